import type { OriginReader } from "../../../net/forwarded.ts";
import { errorResponse, type HttpError, serverRestarting } from "../../../common/http_error.ts";
import { type Exchange, sendResponse } from "../../../net/listener/mod.ts";
import { Opening, type RequestStream, ResetReason, type StreamOpening } from "../../../protocol/mod.ts";
import type { SessionHandle } from "../../cluster/mod.ts";
import type { Answer, Handler } from "../../http/mod.ts";
import {
  fromReset,
  headTooLarge,
  noSuchTunnel,
  tooManyConnections,
  tooManyOfVisitor,
  tooManyStreams,
  tunnelOffline,
} from "../errors.ts";
import type { Sessions } from "../session/sessions.ts";
import type { Endpoint } from "../tunnel/endpoint.ts";
import type { RequestLog } from "../tunnel/request_log.ts";
import { VisitorHead } from "./heads.ts";
import { Visitor } from "./visitor.ts";

/** What a visitor's way into a tunnel works with. */
export interface VisitsOptions {
  hosts: Pick<TunnelHosts, "find">;
  /** The endpoint at an address when it is in memory, for the fast path. */
  getEndpoint(host: TunnelHost): Endpoint | undefined;
  findEndpoint(host: TunnelHost): Promise<Endpoint | null>;
  sessions: Pick<Sessions, "draining">;
  readOrigin: OriginReader;
  /** How long a visitor waits for a client that has just dropped off. */
  holdMs: number;
  /** Requests at a time of one visitor over HTTP/2 or behind a trusted proxy, upgrades included. */
  maxRequestsPerVisitor: number;
}

/** Answers visitors of tunnels: HTTP, streams and upgrades pass the same gates, here and nowhere else. */
export class Visits implements Handler {
  readonly #options: VisitsOptions;
  /** Requests that run, of visitors over HTTP/2 and behind trusted proxies by their networks. */
  readonly #running = new Map<string, number>();

  constructor(options: VisitsOptions) {
    this.#options = options;
  }

  /** Answers a visitor of the tunnel that the Host names; nobody else. */
  handle(exchange: Exchange): Answer | Promise<Answer> | undefined {
    const host = this.#options.hosts.find(exchange.host);
    if (host === null) return undefined;
    // What room is left is for the owners of tunnels.
    if (exchange.isOverLimit) return turnAway(exchange);
    if (this.#options.sessions.draining) return refusal(exchange, serverRestarting());
    const endpoint = this.#options.getEndpoint(host);
    return endpoint === undefined ? this.#answerStored(exchange, host) : this.#visit(exchange, endpoint);
  }

  async #answerStored(exchange: Exchange, host: TunnelHost): Promise<Answer> {
    const endpoint = await this.#options.findEndpoint(host);
    return endpoint === null ? refusal(exchange, noSuchTunnel()) : await this.#visit(exchange, endpoint);
  }

  #visit(exchange: Exchange, endpoint: Endpoint): Answer | Promise<Answer> {
    const fault = endpoint.gate();
    if (fault !== null) return refusal(exchange, fault);
    const carrier = endpoint.find();
    if (carrier === null || carrier instanceof Promise) return this.#visitHeld(exchange, endpoint);
    return this.#carry(exchange, endpoint, carrier);
  }

  async #visitHeld(exchange: Exchange, endpoint: Endpoint): Promise<Answer> {
    const carrier = await endpoint.whenCarried(this.#options.holdMs);
    const fault = carrier === null ? tunnelOffline() : endpoint.gate();
    if (carrier === null || fault !== null) return refusal(exchange, fault ?? tunnelOffline());
    return this.#carry(exchange, endpoint, carrier);
  }

  #carry(exchange: Exchange, endpoint: Endpoint, carrier: SessionHandle): Answer {
    const { readOrigin, maxRequestsPerVisitor } = this.#options;
    const origin = readOrigin(exchange);
    // Everybody else has a connection for each, and the listener counts those.
    const isCounted = origin.isProxied === true || exchange.httpVersion === "2";
    const network = isCounted ? origin.network : null;
    if (network !== null && (this.#running.get(network) ?? 0) >= maxRequestsPerVisitor) {
      return refusal(exchange, tooManyOfVisitor());
    }
    const head = new VisitorHead(exchange, origin);
    const visitor = new Visitor(exchange, endpoint, refuse);
    const opening = toOpening(exchange);
    const stream = tryOpen(carrier, opening, head, visitor);
    if (stream === "too large") return refusal(exchange, headTooLarge());
    if (stream === null) return refusal(exchange, carrier.over ? tunnelOffline() : tooManyStreams());
    endpoint.meter(stream.carried);
    const { requests } = endpoint.tunnel;
    if (network !== null || requests !== null) this.#follow(stream, network, requests, exchange, endpoint.port);
    visitor.start(stream);
    return null;
  }

  /** Counts a request that runs, and notes how it ended, where either is wanted. */
  #follow(
    stream: RequestStream,
    network: string | null,
    requests: RequestLog | null,
    exchange: Exchange,
    port: number,
  ): void {
    if (network !== null) this.#countFor(network, 1);
    // The head is gone by then. It becomes text only for the log.
    const { method, path } = requests === null ? UNLOGGED : exchange, at = requests === null ? 0 : Date.now();
    const finish = () => {
      if (network !== null) this.#countFor(network, -1);
      if (requests === null) return;
      const status = stream.status !== 0 ? stream.status : fromReset(stream.ended ?? ResetReason.internal, "").status;
      requests.add({ at, method, path, status, ms: Date.now() - at, bytes: stream.carried, port });
    };
    if (stream.ended === null) stream.onFinish = finish;
    else finish();
  }

  #countFor(network: string, change: number): void {
    const count = (this.#running.get(network) ?? 0) + change;
    if (count > 0) this.#running.set(network, count);
    else this.#running.delete(network);
  }
}

const UNLOGGED = { method: "", path: "" };

/** The connection ends with the answer. */
function turnAway(exchange: Exchange): Response {
  const response = refusal(exchange, tooManyConnections());
  response.headers.set("connection", "close");
  return response;
}

function refusal(exchange: Exchange, error: HttpError): Response {
  return errorResponse(error, exchange.header("accept"));
}

function refuse(exchange: Exchange, error: HttpError): void {
  void sendResponse(exchange, refusal(exchange, error));
}

/** The opening of the stream that carries a visitor's request. */
export function toOpening({ upgrade, hasBody }: Pick<Exchange, "upgrade" | "hasBody">): StreamOpening {
  if (upgrade !== null) return Opening.upgrade;
  return hasBody ? Opening.withBody : Opening.bodyless;
}

/** What is added to a head may make it larger than the wire allows. */
function tryOpen(
  carrier: SessionHandle,
  opening: StreamOpening,
  head: VisitorHead,
  visitor: Visitor,
): RequestStream | null | "too large" {
  try {
    return carrier.open(opening, head, visitor);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return "too large";
  }
}

/** A public address of a tunnel, as a Host header names it. */
export interface TunnelHost {
  /** The kind of tunnel whose domain it is below. */
  readonly kind: "ephemeral" | "persistent";
  /** What stands before the domain, in lower case; "" when no tunnel can have that. */
  readonly label: string;
}

/** The two domains of tunnels, and the server's own names, which are never a tunnel's; lower case, without port. */
export interface TunnelDomains {
  ephemeral: string;
  /** May be the other one: labels of persistent tunnels have a dash, others have none. */
  persistent: string;
  ownHosts: readonly string[];
}

/** Finds the tunnel's address in a Host header, whatever its port, its case, or a trailing dot. */
export class TunnelHosts {
  readonly #domains: TunnelDomains;
  // Visitors in a row tend to ask for the same host.
  #lastHost = "";
  #last: TunnelHost | null = null;

  constructor(domains: TunnelDomains) {
    this.#domains = domains;
  }

  /** The address, or null when the host is below none of our domains. */
  find(host: string): TunnelHost | null {
    if (host === this.#lastHost) return this.#last;
    this.#last = this.#parse(normalizeHost(host));
    this.#lastHost = host;
    return this.#last;
  }

  #parse(name: string): TunnelHost | null {
    const { ephemeral, persistent, ownHosts } = this.#domains;
    if (ownHosts.includes(name)) return null;
    const ephemeralLabel = labelBelow(name, ephemeral), persistentLabel = labelBelow(name, persistent);
    if (ephemeralLabel === null && persistentLabel === null) return null;
    // One domain may be below the other: then only one of the two finds a label.
    if (persistentLabel && (persistent !== ephemeral || persistentLabel.includes("-"))) {
      return { kind: "persistent", label: persistentLabel };
    }
    return { kind: "ephemeral", label: ephemeralLabel ?? "" };
  }
}

/** The label before a domain, "" when what stands there is none, or null when the name is not below that domain. */
function labelBelow(name: string, domain: string): string | null {
  if (!name.endsWith(domain) || name.at(-domain.length - 1) !== ".") return null;
  const label = name.slice(0, -domain.length - 1);
  return LABEL.test(label) ? label : "";
}

/** One DNS label (RFC 1035, section 2.3.1; a digit may come first by RFC 1123, section 2.1). */
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** A Host header's name: without port and trailing dot, in lower case. */
export function normalizeHost(host: string): string {
  const colon = host.lastIndexOf(":");
  const name = colon > host.lastIndexOf("]") ? host.slice(0, colon) : host;
  return (name.endsWith(".") ? name.slice(0, -1) : name).toLowerCase();
}
