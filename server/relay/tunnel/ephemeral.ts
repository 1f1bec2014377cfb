import type { HttpError } from "../../../common/http_error.ts";
import { GoAwayReason } from "../../../protocol/mod.ts";
import type { EphemeralTunnel } from "../../store/mod.ts";
import { tunnelExhausted, tunnelExpired } from "../errors.ts";
import { Endpoint, type RelayPlace, type SessionEnd, type TunnelGate } from "./endpoint.ts";

/** An ephemeral tunnel in memory: one address, and an end by time or by traffic. */
export class Ephemeral implements TunnelGate {
  readonly record: EphemeralTunnel;
  readonly endpoint: Endpoint;
  readonly requests = null;
  /** When it was last connected or asked for, in Unix milliseconds. */
  seenAt = 0;
  /** Bytes carried, including those not yet in the store. */
  #used: number;
  #saved: number;
  readonly #now: () => number;

  constructor(record: EphemeralTunnel, place: RelayPlace) {
    this.record = record;
    this.endpoint = new Endpoint(this, 0, record.id, place);
    this.#used = this.#saved = record.bytesUsed;
    this.#now = place.now;
  }

  get used(): number {
    return this.#used;
  }

  gate(): HttpError | null {
    if (this.#used >= this.record.bytesLimit) return tunnelExhausted();
    return this.#now() >= this.record.expiresAt ? tunnelExpired() : null;
  }

  meter(bytes: number): void {
    this.#used += bytes;
    if (this.#used >= this.record.bytesLimit) this.endpoint.end(EXHAUSTED);
  }

  /** Ends the session of a tunnel whose time or traffic is over. */
  endIfOver(): void {
    if (!this.endpoint.isLive) return;
    if (this.#used >= this.record.bytesLimit) this.endpoint.end(EXHAUSTED);
    else if (this.#now() >= this.record.expiresAt) this.endpoint.end(EXPIRED);
  }

  /** Whether the store knows all traffic. */
  get isSaved(): boolean {
    return this.#used === this.#saved;
  }

  /** Traffic since the last call, to be added in the store. */
  takeUnsaved(): number {
    const unsaved = this.#used - this.#saved;
    this.#saved = this.#used;
    return unsaved;
  }

  /** Gives back what {@link takeUnsaved} took when it could not be stored. */
  giveBackUnsaved(bytes: number): void {
    this.#saved -= bytes;
  }
}

const EXHAUSTED: SessionEnd = { reason: GoAwayReason.exhausted, text: "the traffic is used up" };
const EXPIRED: SessionEnd = { reason: GoAwayReason.expired, text: "the tunnel has expired" };
