import { describeError, type Logger } from "../../common/log.ts";
import { type EphemeralTunnel, type EphemeralTunnels, StoreUnavailable } from "../store/mod.ts";
import type { Presence } from "../cluster/mod.ts";
import type { Session } from "./session.ts";
import { Tunnel } from "./tunnel.ts";

/** How long a tunnel that nobody uses stays in memory. */
const FORGET_MS = 60_000;
/** How long an expired tunnel still answers 410; then its address is unknown. */
const KEEP_EXPIRED_MS = 24 * 60 * 60 * 1000;
const PURGE_EVERY_MS = 10 * 60 * 1000;

/** Tunnels in memory, in front of the store. */
export interface Tunnels {
  /** The one in memory, for the fast path. */
  getByLabel(label: string): Tunnel | undefined;
  findByLabel(label: string): Promise<Tunnel | null>;
  findById(id: string): Promise<Tunnel | null>;
  add(record: EphemeralTunnel): Promise<Tunnel>;
  /** Tunnels that have not expired. */
  count(): Promise<number>;
  /** Once a second or so: ends what is over, stores traffic, forgets what is idle. */
  sweep(): Promise<void>;
}

export interface TunnelsOptions {
  store: EphemeralTunnels;
  presence: Presence<Session>;
  log: Logger;
  now: () => number;
}

export function createTunnels({ store, presence, log, now }: TunnelsOptions): Tunnels {
  const byLabel = new Map<string, Tunnel>();
  const startedAt = now();
  let purgedAt = 0;

  /** One object a record, however many ask at once. */
  function keep(record: EphemeralTunnel): Tunnel {
    const tunnel = byLabel.get(record.label) ?? new Tunnel(record, presence, startedAt, now);
    byLabel.set(record.label, tunnel);
    tunnel.seenAt = now();
    return tunnel;
  }

  const keepFound = (record: EphemeralTunnel | null) => record === null ? null : keep(record);

  async function saveTraffic(): Promise<void> {
    const unsaved: { tunnel: Tunnel; bytes: number }[] = [];
    for (const tunnel of byLabel.values()) {
      const bytes = tunnel.takeUnsaved();
      if (bytes > 0) unsaved.push({ tunnel, bytes });
    }
    try {
      await store.addTraffic(unsaved.map(({ tunnel, bytes }) => ({ id: tunnel.record.id, bytes })));
    } catch (error) {
      for (const { tunnel, bytes } of unsaved) tunnel.giveBackUnsaved(bytes);
      // The store's own fault is told once, by whoever watches it.
      if (!(error instanceof StoreUnavailable)) log.error("traffic_not_saved", { reason: describeError(error) });
    }
  }

  async function sweep(): Promise<void> {
    await saveTraffic();
    for (const [label, tunnel] of byLabel) {
      tunnel.endIfOver();
      if (tunnel.session !== null) tunnel.seenAt = now();
      else if (now() - tunnel.seenAt > FORGET_MS && tunnel.isSaved) byLabel.delete(label);
    }
    if (now() - purgedAt >= PURGE_EVERY_MS) await purge();
  }

  /** A store that fails now is asked again later: it must not stop the sweeps, nor this process. */
  async function purge(): Promise<void> {
    purgedAt = now();
    try {
      await store.removeExpired(now() - KEEP_EXPIRED_MS);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) log.error("expired_not_removed", { reason: describeError(error) });
    }
  }

  return {
    getByLabel: (label) => byLabel.get(label),
    findByLabel: async (label) => byLabel.get(label) ?? keepFound(await store.findByLabel(label)),
    findById: async (id) => keepFound(await store.findById(id)),
    count: () => store.count(now()),
    async add(record) {
      await store.insert(record);
      return keep(record);
    },
    sweep,
  };
}
