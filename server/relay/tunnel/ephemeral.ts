import type { EphemeralTunnel } from "../../store/mod.ts";
import { Endpoint, type RelayContext, type Tunnel } from "./endpoint.ts";
import { Traffic } from "./gates/traffic.ts";

/** An ephemeral tunnel in memory: one address that closes after a time or a number of bytes. */
export class Ephemeral implements Tunnel {
  readonly record: EphemeralTunnel;
  readonly endpoint: Endpoint<Ephemeral>;
  readonly traffic: Traffic;
  readonly requests = null;
  readonly settings = null;
  readonly allowance = null;
  /** The last time that a visitor or a client used it, in Unix milliseconds. */
  seenAt = 0;

  constructor(record: EphemeralTunnel, context: RelayContext) {
    this.record = record;
    this.endpoint = new Endpoint(this, 0, record.id, context);
    this.traffic = new Traffic(record.bytesLimit, record.bytesUsed);
    this.traffic.onExhausted = () => this.endpoint.endIfClosed();
  }

  get expiresAt(): number {
    return this.record.expiresAt;
  }
}
