import { createHash, timingSafeEqual } from "node:crypto";
import { bodyTooLarge, expectationFailed, HttpError, loopDetected } from "../../common/http_error.ts";
import type { Exchange } from "../../net/listener/mod.ts";
import { createRateLimiter, type RateLimiter } from "../../common/rate_limiter.ts";

/** What stands before every route of the proxy. */
export interface GateOptions {
  token: string | null;
  /** A minute and address; null for no limit. */
  requestsPerMinute: number | null;
  /** What this server calls itself in Via. */
  viaToken: string;
}

/** In it a caller shows the token where Authorization is meant for the upstream. It is never sent on. */
export const TOKEN_HEADER = "portway-token";

/** What stands before every request of the proxy. */
export class ProxyGate {
  readonly #wanted: Uint8Array | null;
  readonly #limiter: RateLimiter | null;
  readonly #viaToken: string;

  constructor({ token, requestsPerMinute, viaToken }: GateOptions) {
    this.#wanted = token === null ? null : digest(token);
    this.#limiter = requestsPerMinute === null
      ? null
      : createRateLimiter({ burst: requestsPerMinute, perMinute: requestsPerMinute });
    this.#viaToken = viaToken;
  }

  /** Whether callers must show a token. */
  get isProtected(): boolean {
    return this.#wanted !== null;
  }

  /**
   * @param address who the request is counted for
   * @throws HttpError 508 for a loop, 417 for an Expect that cannot be met, 429 for too many
   */
  enter(exchange: Exchange, address: string): void {
    const via = exchange.header("via");
    if (via?.includes(this.#viaToken)) throw loopDetected(describeCircle(via, this.#viaToken));
    const expect = exchange.header("expect");
    if (expect !== null && expect.toLowerCase() !== "100-continue") {
      throw expectationFailed("The expectation in the Expect header cannot be met.", {
        supported_expectations: ["100-continue"],
      });
    }
    const waitMs = this.#limiter?.take(address) ?? 0;
    if (waitMs > 0) throw tooManyRequests(waitMs);
  }

  /** @throws HttpError 417 or 413 for a body announced as larger than `maxBytes`. */
  checkSize(exchange: Exchange, maxBytes: number): void {
    const announced = Number(exchange.header("content-length") ?? 0);
    if (announced <= maxBytes) return;
    if (exchange.header("expect") === null) throw bodyTooLarge(maxBytes);
    throw expectationFailed("The announced body is too large.", {
      suggestion: "Send a smaller body.",
      max_file_size: maxBytes,
      your_file_size: announced,
    });
  }

  /**
   * @param inside a token of the description itself
   * @throws HttpError 401 `token_required` or `token_wrong`
   */
  checkToken(exchange: Exchange, inside: string | null): void {
    this.#check(inside ?? readToken(exchange));
  }

  /** For requests whose Authorization is meant for the upstream. @throws HttpError 401 as {@link checkToken} */
  checkOwnToken(exchange: Pick<Exchange, "header">): void {
    this.#check(exchange.header(TOKEN_HEADER));
  }

  /** Before a body is read. @throws HttpError 401 `token_wrong`; none in the header may mean one in the description. */
  checkHeaderToken(exchange: Exchange): void {
    const given = this.#wanted === null ? null : readToken(exchange);
    if (given !== null) this.#check(given);
  }

  #check(given: string | null): void {
    if (this.#wanted === null) return;
    if (given === null) throw unauthorized("token_required", "This proxy wants its access token.");
    if (timingSafeEqual(digest(given), this.#wanted)) return;
    throw unauthorized("token_wrong", "This is not the access token of this proxy.");
  }
}

function readToken(exchange: Exchange): string | null {
  return exchange.header(TOKEN_HEADER) ??
    /^Bearer +(\S+)$/i.exec(exchange.header("authorization") ?? "")?.[1] ?? null;
}

function unauthorized(code: string, message: string): HttpError {
  return new HttpError(401, code, message, { headers: { "www-authenticate": 'Bearer realm="Portway proxy"' } });
}

/** 503 for what there is no room for now. */
export function busy(): HttpError {
  return new HttpError(503, "busy", "This proxy is busy.", { headers: { "retry-after": "1" } });
}

/** Digests are of one length, so that comparing them tells nothing, not even the length of the token. */
function digest(token: string): Uint8Array {
  return createHash("sha256").update(token).digest();
}

function tooManyRequests(waitMs: number): HttpError {
  return new HttpError(429, "too_many_requests", "Too many requests from this address.", {
    headers: { "retry-after": String(Math.ceil(waitMs / 1000)) },
  });
}

/** An entry of Via (RFC 9110, section 7.6.3): protocol, who received it, and in brackets where they sent it. */
const VIA_ENTRY = /^\s*[^\s()]+\s+([^\s()]+)(?:\s+\(([^()]*)\))?/;
/** Stations of a circle that are named. */
const MAX_STATIONS = 10;

const PLAIN_HOST = /^[\w.:[\]-]+$/;

/** This server's entry of Via for a request to a host, which a circle is then told by. */
export function viaEntry(viaToken: string, host: string): string {
  // Hosts may have brackets in them, which comments may not.
  return `1.1 ${viaToken} (${PLAIN_HOST.test(host) ? host : host.replace(/[^\w.:[\]-]/g, "_")})`;
}

/** The stations of one turn, by what each wrote into Via, and how many turns there were. */
function describeCircle(via: string, viaToken: string): string {
  // A comment of others may have a comma in it: what follows it reads as no entry, or as one more station.
  const entries = via.split(",").map((entry) => VIA_ENTRY.exec(entry)).filter((entry) => entry !== null);
  const isOwn = ([, name]: RegExpExecArray) => name === viaToken;
  const turns = entries.filter(isOwn).length;
  const lastTurn = entries.slice(entries.findLastIndex(isOwn));
  const stations = lastTurn.flatMap((entry) => isOwn(entry) ? ["this proxy", entry[2] ?? "?"] : [entry[1]]);
  const named = stations.length > MAX_STATIONS ? [...stations.slice(0, MAX_STATIONS), "…"] : stations;
  return `The request has come back to this proxy after ${turns} ${turns === 1 ? "turn" : "turns"}: ${
    named.map((name) => name.slice(0, 100)).join(" -> ")
  } -> this proxy.`;
}
