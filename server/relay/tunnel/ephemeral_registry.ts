import { describeError, type Logger } from "../../../common/log.ts";
import { type EphemeralTunnel, type EphemeralTunnels, StoreUnavailable } from "../../store/mod.ts";
import type { RelayContext } from "./endpoint.ts";
import { Ephemeral } from "./ephemeral.ts";

/** How long a tunnel that nobody uses stays in memory. */
const FORGET_MS = 60_000;
/** How long an expired tunnel still answers 410; then its address is unknown. */
const KEEP_EXPIRED_MS = 24 * 60 * 60 * 1000;
const PURGE_EVERY_MS = 10 * 60 * 1000;

/** Ephemeral tunnels in memory, in front of the store. */
export class EphemeralRegistry {
  readonly #byLabel = new Map<string, Ephemeral>();
  readonly #store: EphemeralTunnels;
  readonly #place: RelayContext;
  readonly #log: Logger;
  #purgedAt = 0;

  constructor(store: EphemeralTunnels, place: RelayContext, log: Logger) {
    this.#store = store;
    this.#place = place;
    this.#log = log;
  }

  /** The one in memory, for the fast path. */
  getByLabel(label: string): Ephemeral | undefined {
    return this.#byLabel.get(label);
  }

  /** The tunnel at a label, expired ones too for a day. @throws StoreUnavailable */
  async findByLabel(label: string): Promise<Ephemeral | null> {
    return this.#byLabel.get(label) ?? this.#keepFound(await this.#store.findByLabel(label));
  }

  /** The tunnel with that id, likewise. @throws StoreUnavailable */
  async findById(id: string): Promise<Ephemeral | null> {
    return this.#keepFound(await this.#store.findById(id));
  }

  /** Keeps a new tunnel. @throws LabelTaken, StoreUnavailable */
  async add(record: EphemeralTunnel): Promise<Ephemeral> {
    await this.#store.insert(record);
    return this.#keep(record);
  }

  /** Tunnels that have not expired. */
  count(): Promise<number> {
    return this.#store.count(this.#place.now());
  }

  /** Once a second or so: ends what is over, stores traffic, forgets what is idle. */
  async sweep(): Promise<void> {
    await this.#saveTraffic();
    const now = this.#place.now();
    for (const [label, tunnel] of this.#byLabel) {
      tunnel.endIfOver();
      if (tunnel.endpoint.isLive) tunnel.seenAt = now;
      else if (now - tunnel.seenAt > FORGET_MS && tunnel.unsaved.amount === 0) this.#byLabel.delete(label);
    }
    if (now - this.#purgedAt >= PURGE_EVERY_MS) await this.#purge(now);
  }

  /** One object a record, however many ask at once. */
  #keep(record: EphemeralTunnel): Ephemeral {
    const tunnel = this.#byLabel.get(record.label) ?? new Ephemeral(record, this.#place);
    this.#byLabel.set(record.label, tunnel);
    tunnel.seenAt = this.#place.now();
    return tunnel;
  }

  #keepFound(record: EphemeralTunnel | null): Ephemeral | null {
    return record === null ? null : this.#keep(record);
  }

  async #saveTraffic(): Promise<void> {
    const unsaved: { tunnel: Ephemeral; bytes: number }[] = [];
    for (const tunnel of this.#byLabel.values()) {
      const bytes = tunnel.unsaved.take();
      if (bytes > 0) unsaved.push({ tunnel, bytes });
    }
    try {
      await this.#store.addTraffic(unsaved.map(({ tunnel, bytes }) => ({ id: tunnel.record.id, bytes })));
    } catch (error) {
      for (const { tunnel, bytes } of unsaved) tunnel.unsaved.add(bytes);
      // The store's own fault is told once, by whoever watches it.
      if (!(error instanceof StoreUnavailable)) this.#log.error("traffic_not_saved", { reason: describeError(error) });
    }
  }

  /** A store that fails now is asked again later: it must not stop the sweeps, nor this process. */
  async #purge(now: number): Promise<void> {
    this.#purgedAt = now;
    try {
      await this.#store.removeExpired(now - KEEP_EXPIRED_MS);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) {
        this.#log.error("expired_not_removed", { reason: describeError(error) });
      }
    }
  }
}
