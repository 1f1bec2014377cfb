import type { HttpError } from "../../../common/http_error.ts";
import { GoAwayReason } from "../../../protocol/mod.ts";
import type { PersistentTunnel } from "../../store/mod.ts";
import { allowanceExhausted, portNotAllowed, tunnelDisabled, tunnelSuspended } from "../errors.ts";
import type { Allowance } from "./allowance.ts";
import { Endpoint, type RelayContext, type SessionEnd, type TunnelGate } from "./endpoint.ts";
import { RequestLog } from "./request_log.ts";
import { Unsaved } from "./unsaved.ts";

/** How long an endpoint that lost its session is remembered, in milliseconds. */
const REMEMBER_MS = 60_000;

/** Why nobody may pass. */
type Fault = "suspended" | "disabled" | "port" | "allowance";

/** A persistent tunnel in memory: an address a port, switched on and off by its owner, within its user's allowance. */
export class Persistent implements TunnelGate {
  /** As the store has it. */
  record: PersistentTunnel;
  /** That of {@link PersistentTunnel.userId}. */
  allowance: Allowance;
  readonly requests = new RequestLog();
  /** Bytes. */
  readonly unsaved = new Unsaved();
  /** When it was last connected or asked for, in Unix milliseconds. */
  seenAt = 0;
  /** Those that sessions carry, or carried a moment ago, by their ports. */
  readonly #endpoints = new Map<number, Endpoint>();
  readonly #place: RelayContext;
  readonly #onExhausted: (allowance: Allowance) => void;

  /** @param onExhausted is told the moment the allowance is used up: more tunnels than this one may live on it */
  constructor(
    record: PersistentTunnel,
    allowance: Allowance,
    place: RelayContext,
    onExhausted: (allowance: Allowance) => void,
  ) {
    this.record = record;
    this.allowance = allowance;
    this.#place = place;
    this.#onExhausted = onExhausted;
  }

  /** @param allowance of who wants to carry it; the present one when left out */
  gate(port: number, allowance: Allowance = this.allowance): HttpError | null {
    switch (this.#findFault(port, allowance)) {
      case "suspended":
        return tunnelSuspended();
      case "disabled":
        return tunnelDisabled();
      case "port":
        return portNotAllowed(port);
      case "allowance":
        return allowanceExhausted(this.#place.now());
      case null:
        return null;
    }
  }

  meter(bytes: number): void {
    this.unsaved.add(bytes);
    this.allowance.add(bytes);
    if (this.allowance.isExhausted) this.#onExhausted(this.allowance);
  }

  /** The endpoint of a port. There are many, so it is kept only once it is carried. */
  endpointOf(port: number): Endpoint {
    return this.#endpoints.get(port) ?? new Endpoint(this, port, `${this.record.id}:${port}`, this.#place);
  }

  onCarried(endpoint: Endpoint): void {
    this.#endpoints.set(endpoint.port, endpoint);
  }

  /** Whether the endpoint of that port is kept. */
  keeps(port: number): boolean {
    return this.#endpoints.has(port);
  }

  /** What is carried now, as far as this node has seen, by port. */
  live(): Endpoint[] {
    return [...this.#endpoints.values()].filter(({ isLive }) => isLive).sort((one, two) => one.port - two.port);
  }

  /** Ends the sessions that may not go on. */
  endIfOver(): void {
    for (const endpoint of [...this.#endpoints.values()]) {
      const fault = this.#findFault(endpoint.port, this.allowance);
      if (fault !== null) endpoint.end(ENDS[fault]);
    }
  }

  /** Ends all sessions. */
  end(end: SessionEnd): void {
    for (const endpoint of [...this.#endpoints.values()]) endpoint.end(end);
  }

  /** Forgets endpoints that nobody has carried for a while, and says which. */
  forgetIdle(): Endpoint[] {
    const idle = [...this.#endpoints.values()]
      .filter(({ isLive, droppedAt }) => !isLive && this.#place.now() - droppedAt > REMEMBER_MS);
    for (const { port } of idle) this.#endpoints.delete(port);
    return idle;
  }

  /** Whether the store knows all traffic. */
  get isSaved(): boolean {
    return this.unsaved.amount === 0 && this.requests.unsaved.amount === 0;
  }

  #findFault(port: number, allowance: Allowance): Fault | null {
    const { suspended, enabled, allowedPorts } = this.record;
    if (suspended) return "suspended";
    if (!enabled) return "disabled";
    if (allowedPorts !== "all" && !allowedPorts.includes(port)) return "port";
    return allowance.isExhausted ? "allowance" : null;
  }
}

const ENDS: Readonly<Record<Fault, SessionEnd>> = {
  suspended: { reason: GoAwayReason.disabled, text: "the operator of the server has suspended this tunnel" },
  disabled: { reason: GoAwayReason.disabled, text: "this tunnel was switched off" },
  port: { reason: GoAwayReason.disabled, text: "this port is not allowed any more" },
  allowance: { reason: GoAwayReason.allowance, text: "the traffic of this month is used up" },
};
