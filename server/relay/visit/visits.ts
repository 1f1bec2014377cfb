import type { OriginReader } from "../../../net/forwarded.ts";
import { errorResponse, HttpError } from "../../../common/http_error.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import { Opening, ResetReason, type StreamOpening } from "../../../protocol/mod.ts";
import type { Answer, Handler } from "../../http/mod.ts";
import { fromReset, headTooLarge, noSuchTunnel, tooManyConnections, tooManyStreams, tunnelOffline } from "../errors.ts";
import type { Check, Endpoint, Verdict } from "../tunnel/endpoint.ts";
import { VisitorHead } from "./heads.ts";
import { type TunnelHost, Visitor } from "./visitor.ts";

/** Finds tunnels by host label, for one kind. */
export interface EndpointSource {
  /** The endpoints in memory, for the fast path. */
  readonly endpoints: ReadonlyMap<string, Endpoint>;
  /** Returns a label's endpoint, or null. @throws StoreUnavailable */
  findEndpoint(label: string): Promise<Endpoint | null>;
}

/** Relay parts that visits use. */
export interface VisitsOptions {
  hosts: Pick<TunnelHosts, "find">;
  /** The tunnels by kind. */
  sources: Readonly<Record<TunnelHost["kind"], EndpointSource>>;
  readOrigin: OriginReader;
  /** How long a visitor waits for a client that disconnected, in milliseconds. */
  holdMs: number;
}

/** A phase's result: undefined continues with the next phase, a response ends the visit. */
type Outcome = Answer | undefined;

/**
 * Handles tunnel visitors. HTTP, upgrades, held visitors and all ports go through the same phases.
 */
export class Visits implements Handler {
  readonly #options: VisitsOptions;
  /** The phases in order. A phase returns a promise only if it has to wait. */
  readonly #phases: readonly ((visit: Visitor) => Outcome | Promise<Outcome>)[];

  constructor(options: VisitsOptions) {
    this.#options = options;
    const route = this.#route.bind(this), connect = this.#connect.bind(this);
    this.#phases = [route, admit, connect, request, respond, log];
  }

  /** Handles a request whose Host names a tunnel. Returns undefined for other hosts. */
  handle(exchange: Exchange): Answer | Promise<Answer> | undefined {
    const host = this.#options.hosts.find(exchange.host);
    return host === null ? undefined : this.#run(new Visitor(exchange, host), 0);
  }

  /** Calls the phases in order, from the one with the index `first`. */
  #run(visit: Visitor, first: number): Answer | Promise<Answer> {
    try {
      for (let at = first; at < this.#phases.length; at++) {
        const outcome = this.#phases[at](visit);
        if (outcome instanceof Promise) return this.#resume(visit, outcome, at + 1);
        if (outcome === undefined) continue;
        visit.end();
        return outcome;
      }
      return null;
    } catch (error) {
      visit.end();
      throw error;
    }
  }

  /** Continues with the phase `next` after a phase that waits. */
  async #resume(visit: Visitor, waiting: Promise<Outcome>, next: number): Promise<Answer> {
    let outcome: Outcome;
    try {
      outcome = await waiting;
    } catch (error) {
      visit.end();
      throw error;
    }
    if (outcome === undefined) return await this.#run(visit, next);
    visit.end();
    return outcome;
  }

  /** Finds the endpoint that the Host names. */
  #route(visit: Visitor): Outcome | Promise<Outcome> {
    const { exchange, host } = visit;
    // The last connections are kept for clients.
    if (exchange.isOverLimit) return turnAway(exchange);
    visit.visitor = this.#options.readOrigin(exchange);
    const source = this.#options.sources[host.kind];
    const endpoint = source.endpoints.get(host.label);
    if (endpoint === undefined) return this.#load(visit, source);
    visit.endpoint = endpoint;
    return undefined;
  }

  async #load(visit: Visitor, source: EndpointSource): Promise<Outcome> {
    const endpoint = await source.findEndpoint(visit.host.label);
    if (endpoint === null) return refusal(visit.exchange, noSuchTunnel());
    visit.endpoint = endpoint;
    return undefined;
  }

  /** Finds the session that carries the endpoint, or holds the visitor until a client connects. */
  #connect(visit: Visitor): Outcome | Promise<Outcome> {
    const session = visit.endpoint.connect();
    if (session === null || session instanceof Promise) return this.#hold(visit);
    visit.session = session;
    return undefined;
  }

  async #hold(visit: Visitor): Promise<Outcome> {
    const session = await visit.endpoint.whenCarried(this.#options.holdMs);
    if (session === null) return refusal(visit.exchange, tunnelOffline());
    visit.session = session;
    visit.wasHeld = true;
    return await admit(visit);
  }
}

/** Runs the endpoint's checks in order, until one refuses the visit or responds. */
function admit(visit: Visitor): Outcome | Promise<Outcome> {
  return runChecks(visit, visit.endpoint.checks, 0);
}

function runChecks(visit: Visitor, checks: readonly Check[], first: number): Outcome | Promise<Outcome> {
  for (let at = first; at < checks.length; at++) {
    const verdict = decide(checks[at], visit);
    if (verdict === null) continue;
    if (!(verdict instanceof Promise)) return toAnswer(visit, verdict);
    return verdict.then((later) => later === null ? runChecks(visit, checks, at + 1) : toAnswer(visit, later));
  }
  return undefined;
}

function decide(check: Check, visit: Visitor): Verdict | Promise<Verdict> {
  if (check.onlyShared && !isShared(visit)) return null;
  const closure = check.close?.() ?? null;
  return closure === null ? check.admit?.(visit) ?? null : closure.refuse();
}

/** Whether the visitor's connection carries other visitors' requests, or several requests at a time. */
function isShared({ exchange, visitor }: Visitor): boolean {
  return visitor.isProxied === true || exchange.httpVersion === "2";
}

function toAnswer({ exchange }: Visitor, verdict: Exclude<Verdict, null>): Answer {
  if (verdict === "responded") return null;
  return verdict instanceof HttpError ? refusal(exchange, verdict) : verdict;
}

/** Opens a stream in the session and sends the request's head on it. */
function request(visit: Visitor): Outcome {
  const { exchange, session, endpoint } = visit;
  const head = new VisitorHead(exchange, visit.visitor, visit.edits);
  try {
    const stream = session.open(toOpening(exchange), head, visit);
    if (stream === null) return refusal(exchange, session.over ? tunnelOffline() : tooManyStreams());
    visit.stream = stream;
  } catch (error) {
    // The fields that the relay adds can make a head larger than the protocol allows.
    if (!(error instanceof RangeError)) throw error;
    return refusal(exchange, headTooLarge());
  }
  endpoint.meter(visit.stream.carried);
  return undefined;
}

/** Returns the opening for a visitor's stream. */
export function toOpening({ upgrade, hasBody }: Pick<Exchange, "upgrade" | "hasBody">): StreamOpening {
  if (upgrade !== null) return Opening.upgrade;
  return hasBody ? Opening.withBody : Opening.bodyless;
}

/** Lets the visit send the request's body, and write the response as it arrives. */
function respond(visit: Visitor): Outcome {
  visit.start();
  return undefined;
}

/** Reports the request's end to the tunnel's log and to gates, if they listen. */
function log(visit: Visitor): Outcome {
  const { exchange, stream, endpoint } = visit, { requests } = endpoint.tunnel;
  if (requests === null && !visit.hasListeners) return undefined;
  // The head's buffer may hold the next request when this one ends.
  const { method, path } = exchange, at = Date.now();
  const finish = () => {
    visit.end();
    const status = stream.status !== 0 ? stream.status : fromReset(stream.ended ?? ResetReason.internal, "").status;
    requests?.add({ at, method, path, status, ms: Date.now() - at, bytes: stream.carried, port: endpoint.port });
  };
  if (stream.ended === null) stream.onFinish = finish;
  else finish();
  return undefined;
}

/** Refuses a visitor and closes the connection. */
function turnAway(exchange: Exchange): Response {
  const response = refusal(exchange, tooManyConnections());
  response.headers.set("connection", "close");
  return response;
}

function refusal(exchange: Exchange, error: HttpError): Response {
  return errorResponse(error, exchange.header("accept"));
}

/** The tunnel domains and the server's own host names, in lower case and without port. */
export interface TunnelDomains {
  ephemeral: string;
  /** May equal the other domain, since only persistent tunnels have a dash in their labels. */
  persistent: string;
  ownHosts: readonly string[];
}

/** Parses tunnel addresses from Host headers, with any port, any case and a trailing dot. */
export class TunnelHosts {
  readonly #domains: TunnelDomains;
  // Consecutive requests often name the same host.
  #lastHost = "";
  #last: TunnelHost | null = null;

  constructor(domains: TunnelDomains) {
    this.#domains = domains;
  }

  /** Returns the address, or null for a host outside the tunnel domains. */
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
    // If one domain is below the other, only the lower one finds a label.
    if (persistentLabel && (persistent !== ephemeral || persistentLabel.includes("-"))) {
      return { kind: "persistent", label: persistentLabel };
    }
    return { kind: "ephemeral", label: ephemeralLabel ?? "" };
  }
}

/** Returns the label before a domain, "" for an invalid one, or null for a name outside the domain. */
function labelBelow(name: string, domain: string): string | null {
  if (!name.endsWith(domain) || name.at(-domain.length - 1) !== ".") return null;
  const label = name.slice(0, -domain.length - 1);
  return LABEL.test(label) ? label : "";
}

/** One DNS label (RFC 1035, section 2.3.1; a digit may come first by RFC 1123, section 2.1). */
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Returns a Host header's name without port and trailing dot, in lower case. */
export function normalizeHost(host: string): string {
  const colon = host.lastIndexOf(":");
  const name = colon > host.lastIndexOf("]") ? host.slice(0, colon) : host;
  return (name.endsWith(".") ? name.slice(0, -1) : name).toLowerCase();
}
