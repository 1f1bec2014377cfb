import { describeError, type Logger } from "../../../common/log.ts";
import { type EphemeralTunnel, type EphemeralTunnels, StoreUnavailable } from "../../store/mod.ts";
import type { Endpoint, RelayContext } from "./endpoint.ts";
import { Ephemeral } from "./ephemeral.ts";

/** How long an unused tunnel stays in memory. */
const FORGET_MS = 60_000;
/** How long an expired tunnel's address returns 410. Afterwards it is unknown. */
const KEEP_EXPIRED_MS = 24 * 60 * 60 * 1000;
const PURGE_EVERY_MS = 10 * 60 * 1000;

/** Ephemeral tunnels in memory, in front of the store. */
export class EphemeralRegistry {
  readonly #endpoints = new Map<string, Endpoint<Ephemeral>>();
  /** The endpoints in memory by label, for the fast path. */
  readonly endpoints: ReadonlyMap<string, Endpoint<Ephemeral>> = this.#endpoints;
  readonly #store: EphemeralTunnels;
  readonly #context: RelayContext;
  readonly #log: Logger;
  #purgedAt = 0;

  constructor(store: EphemeralTunnels, context: RelayContext, log: Logger) {
    this.#store = store;
    this.#context = context;
    this.#log = log;
  }

  /** Returns a label's endpoint, for a day after its expiry too. @throws StoreUnavailable */
  async findEndpoint(label: string): Promise<Endpoint<Ephemeral> | null> {
    return this.#endpoints.get(label) ?? this.#keepFound(await this.#store.findByLabel(label))?.endpoint ?? null;
  }

  /** Returns the tunnel with that id, for a day after its expiry too. @throws StoreUnavailable */
  async findById(id: string): Promise<Ephemeral | null> {
    return this.#keepFound(await this.#store.findById(id));
  }

  /** Stores a new tunnel. @param limit open tunnels @throws LabelTaken, TooManyTunnels, StoreUnavailable */
  async add(record: EphemeralTunnel, limit: number): Promise<Ephemeral> {
    await this.#store.insert(record, limit);
    return this.#keep(record);
  }

  /** Stores traffic, ends closed tunnels and removes unused ones from memory. Call it about once a second. */
  async sweep(): Promise<void> {
    await this.#saveTraffic();
    const now = this.#context.now();
    for (const [label, { tunnel, isLive }] of this.#endpoints) {
      if (isLive) tunnel.endpoint.endIfClosed();
      if (tunnel.endpoint.isLive) tunnel.seenAt = now;
      else if (now - tunnel.seenAt > FORGET_MS && tunnel.traffic.unsaved === 0) this.#endpoints.delete(label);
    }
    if (now - this.#purgedAt >= PURGE_EVERY_MS) await this.#purge(now);
  }

  /** Keeps one object for each record, also if several callers load it at once. */
  #keep(record: EphemeralTunnel): Ephemeral {
    const { tunnel } = this.#endpoints.get(record.label) ?? new Ephemeral(record, this.#context).endpoint;
    this.#endpoints.set(record.label, tunnel.endpoint);
    tunnel.seenAt = this.#context.now();
    return tunnel;
  }

  #keepFound(record: EphemeralTunnel | null): Ephemeral | null {
    return record === null ? null : this.#keep(record);
  }

  async #saveTraffic(): Promise<void> {
    const unsaved: { tunnel: Ephemeral; bytes: number }[] = [];
    for (const { tunnel } of this.#endpoints.values()) {
      const bytes = tunnel.traffic.takeUnsaved();
      if (bytes > 0) unsaved.push({ tunnel, bytes });
    }
    try {
      await this.#store.addTraffic(unsaved.map(({ tunnel, bytes }) => ({ id: tunnel.record.id, bytes })));
    } catch (error) {
      for (const { tunnel, bytes } of unsaved) tunnel.traffic.returnUnsaved(bytes);
      this.#report("traffic_not_saved", error);
    }
  }

  /** Removes tunnels that expired long ago. After a failure the next purge tries again. */
  async #purge(now: number): Promise<void> {
    this.#purgedAt = now;
    try {
      await this.#store.removeExpired(now - KEEP_EXPIRED_MS);
    } catch (error) {
      this.#report("expired_not_removed", error);
    }
  }

  /** Logs an error. The relay logs a store that is unavailable. */
  #report(event: string, error: unknown): void {
    if (!(error instanceof StoreUnavailable)) this.#log.error(event, { reason: describeError(error) });
  }
}
