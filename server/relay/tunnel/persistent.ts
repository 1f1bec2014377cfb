import type { PersistentTunnel } from "../../store/mod.ts";
import type { Allowance } from "./allowance.ts";
import { Endpoint, type RelayContext, type SessionEnd, type Tunnel, type TunnelSettings } from "./endpoint.ts";
import { Traffic } from "./gates/traffic.ts";
import { RequestLog } from "./request_log.ts";

/** How long an endpoint without a session is kept, in milliseconds. */
const KEEP_MS = 60_000;

/** A persistent tunnel in memory: one address for each port, and its user's allowance. */
export class Persistent implements Tunnel {
  /** The tunnel as the store has it. Each change replaces the object. */
  record: PersistentTunnel;
  readonly traffic = new Traffic(Infinity, 0);
  readonly requests: RequestLog;
  readonly expiresAt = null;
  /** The last time that a visitor or a client used it, in Unix milliseconds. */
  seenAt = 0;
  #allowance: Allowance;
  /** Endpoints with a session, or with one that ended less than {@link KEEP_MS} ago, by port. */
  readonly #endpoints = new Map<number, Endpoint<Persistent>>();
  readonly #context: RelayContext;

  /** @param requests the log that the tunnel adds its requests to */
  constructor(record: PersistentTunnel, allowance: Allowance, context: RelayContext, requests = new RequestLog()) {
    this.record = record;
    this.#allowance = this.traffic.parent = allowance;
    this.#context = context;
    this.requests = requests;
  }

  get settings(): TunnelSettings {
    return this.record;
  }

  /** The user's allowance. */
  get allowance(): Allowance {
    return this.#allowance;
  }

  set allowance(allowance: Allowance) {
    this.#allowance = this.traffic.parent = allowance;
  }

  /** Returns a port's endpoint. The tunnel keeps it only while a session carries it, since there are many ports. */
  endpointOf(port: number): Endpoint<Persistent> {
    return this.#endpoints.get(port) ?? new Endpoint(this, port, `${this.record.id}:${port}`, this.#context);
  }

  onCarried(endpoint: Endpoint<Persistent>): void {
    this.#endpoints.set(endpoint.port, endpoint);
  }

  /** Whether the tunnel keeps a port's endpoint. */
  keeps(port: number): boolean {
    return this.#endpoints.has(port);
  }

  /** Returns the endpoints that sessions carry, as far as this node has seen, by port. */
  live(): Endpoint<Persistent>[] {
    return [...this.#endpoints.values()].filter(({ isLive }) => isLive).sort((one, two) => one.port - two.port);
  }

  /** Ends sessions where the endpoint is closed. */
  endIfClosed(): void {
    for (const endpoint of [...this.#endpoints.values()]) endpoint.endIfClosed();
  }

  /** Ends all sessions. */
  end(end: SessionEnd): void {
    for (const endpoint of [...this.#endpoints.values()]) endpoint.end(end);
  }

  /** Removes endpoints that had no session for a while, and returns them. */
  forgetIdle(): Endpoint<Persistent>[] {
    const idle = [...this.#endpoints.values()]
      .filter(({ isLive, droppedAt }) => !isLive && this.#context.now() - droppedAt > KEEP_MS);
    for (const { port } of idle) this.#endpoints.delete(port);
    return idle;
  }

  /** Whether the store knows all traffic. */
  get isSaved(): boolean {
    return this.traffic.unsaved === 0 && this.requests.uncounted === 0;
  }
}
