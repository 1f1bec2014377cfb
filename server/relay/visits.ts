import type { OriginReader } from "../../common/forwarded.ts";
import { errorResponse, type HttpError } from "../../common/http_error.ts";
import { networkOf } from "../../common/network.ts";
import { type Exchange, sendResponse } from "../../common/listener/mod.ts";
import {
  headTooLarge,
  noSuchTunnel,
  serverRestarting,
  tooManyConnections,
  tooManyOfVisitor,
  tooManyStreams,
  tunnelOffline,
} from "./errors.ts";
import { VisitorHead } from "./request_head.ts";
import type { Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";
import type { Tunnel } from "./tunnel.ts";
import type { Tunnels } from "./tunnels.ts";
import { Visitor } from "./visitor.ts";

export interface VisitsOptions {
  tunnels: Tunnels;
  sessions: Pick<Sessions, "draining">;
  readOrigin: OriginReader;
  /** How long a visitor waits for a client that has just dropped off. */
  holdMs: number;
  /** Requests at a time of one visitor behind a trusted proxy, upgrades included. */
  maxRequestsPerVisitor: number;
}

/** What a handler gives back: a response, or null for an answer in bytes. */
type Answer = Response | null;

/** Answers visitors of tunnels: HTTP, streams and upgrades pass the same gates, here and nowhere else. */
export class Visits {
  readonly #options: VisitsOptions;
  /** Requests that run, of visitors behind trusted proxies by their networks. */
  readonly #running = new Map<string, number>();

  constructor(options: VisitsOptions) {
    this.#options = options;
  }

  /** Answers a visitor of the tunnel with that label. */
  answer(exchange: Exchange, label: string): Answer | Promise<Answer> {
    const { sessions, tunnels } = this.#options;
    // What room is left is for the owners of tunnels.
    if (exchange.isCrowded) return turnAway(exchange);
    if (sessions.draining) return refusal(exchange, serverRestarting());
    const tunnel = tunnels.getByLabel(label);
    return tunnel === undefined ? this.#answerStored(exchange, label) : this.#visit(exchange, tunnel);
  }

  async #answerStored(exchange: Exchange, label: string): Promise<Answer> {
    const tunnel = await this.#options.tunnels.findByLabel(label);
    return tunnel === null ? refusal(exchange, noSuchTunnel()) : await this.#visit(exchange, tunnel);
  }

  #visit(exchange: Exchange, tunnel: Tunnel): Answer | Promise<Answer> {
    const fault = tunnel.gate();
    if (fault !== null) return refusal(exchange, fault);
    const { session } = tunnel;
    return session === null ? this.#visitHeld(exchange, tunnel) : this.#carry(exchange, tunnel, session);
  }

  async #visitHeld(exchange: Exchange, tunnel: Tunnel): Promise<Answer> {
    const session = await tunnel.whenSession(this.#options.holdMs);
    const fault = session === null ? tunnelOffline() : tunnel.gate();
    if (session === null || fault !== null) return refusal(exchange, fault ?? tunnelOffline());
    return this.#carry(exchange, tunnel, session);
  }

  #carry(exchange: Exchange, tunnel: Tunnel, session: Session): Answer {
    const { readOrigin, maxRequestsPerVisitor } = this.#options;
    const origin = readOrigin(exchange);
    // The listener counts the connections of everybody else.
    const network = origin.isProxied === true ? networkOf(origin.address) : null;
    if (network !== null && (this.#running.get(network) ?? 0) >= maxRequestsPerVisitor) {
      return refusal(exchange, tooManyOfVisitor());
    }
    const head = new VisitorHead(exchange, origin);
    const visitor = new Visitor(exchange, tunnel, (error) => void sendResponse(exchange, refusal(exchange, error)));
    const upgrade = exchange.upgrade !== null;
    const stream = tryOpen(() => session.mux.open(head, { end: !upgrade && !exchange.hasBody, upgrade }, visitor));
    if (stream === "too large") return refusal(exchange, headTooLarge());
    if (stream === null) return refusal(exchange, session.mux.over ? tunnelOffline() : tooManyStreams());
    tunnel.meter(stream.carried);
    if (network !== null && stream.ended === null) {
      this.#countFor(network, 1);
      stream.onFinish = () => this.#countFor(network, -1);
    }
    visitor.start(stream);
    return null;
  }

  #countFor(network: string, change: number): void {
    const count = (this.#running.get(network) ?? 0) + change;
    if (count > 0) this.#running.set(network, count);
    else this.#running.delete(network);
  }
}

/** The connection ends with the answer. */
function turnAway(exchange: Exchange): Response {
  const response = refusal(exchange, tooManyConnections());
  response.headers.set("connection", "close");
  return response;
}

function refusal(exchange: Exchange, error: HttpError): Response {
  return errorResponse(error, exchange.header("accept"));
}

/** What is added to a head may make it larger than the wire allows. */
function tryOpen<T>(open: () => T): T | "too large" {
  try {
    return open();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return "too large";
  }
}
