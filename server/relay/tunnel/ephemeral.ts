import type { HttpError } from "../../../common/http_error.ts";
import { GoAwayReason } from "../../../protocol/mod.ts";
import type { EphemeralTunnel } from "../../store/mod.ts";
import { tunnelExhausted, tunnelExpired } from "../errors.ts";
import { Endpoint, type RelayContext, type SessionEnd, type TunnelGate } from "./endpoint.ts";
import { Unsaved } from "./unsaved.ts";

/** An ephemeral tunnel in memory: one address, and an end by time or by traffic. */
export class Ephemeral implements TunnelGate {
  readonly record: EphemeralTunnel;
  readonly endpoint: Endpoint;
  readonly requests = null;
  /** Bytes. */
  readonly unsaved = new Unsaved();
  /** When it was last connected or asked for, in Unix milliseconds. */
  seenAt = 0;
  /** Bytes carried, including those not yet in the store. */
  #used: number;
  readonly #now: () => number;

  constructor(record: EphemeralTunnel, place: RelayContext) {
    this.record = record;
    this.endpoint = new Endpoint(this, 0, record.id, place);
    this.#used = record.bytesUsed;
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
    this.unsaved.add(bytes);
    if (this.#used >= this.record.bytesLimit) this.endpoint.end(EXHAUSTED);
  }

  /** Ends the session of a tunnel whose time or traffic is over. */
  endIfOver(): void {
    if (!this.endpoint.isLive) return;
    if (this.#used >= this.record.bytesLimit) this.endpoint.end(EXHAUSTED);
    else if (this.#now() >= this.record.expiresAt) this.endpoint.end(EXPIRED);
  }
}

const EXHAUSTED: SessionEnd = { reason: GoAwayReason.exhausted, text: "the traffic is used up" };
const EXPIRED: SessionEnd = { reason: GoAwayReason.expired, text: "the tunnel has expired" };
