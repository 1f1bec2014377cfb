import { createHash, timingSafeEqual } from "node:crypto";
import { bodyTooLarge, expectationFailed, HttpError, loopDetected } from "../../common/http_error.ts";
import type { Exchange } from "../../net/listener/mod.ts";
import { createRateLimiter, type RateLimiter } from "../../common/rate_limiter.ts";

/** Options for the checks before every route. */
export interface GateOptions {
  token: string | null;
  /** Per minute and address; null for no limit. */
  requestsPerMinute: number | null;
  /** This server's name in Via. */
  viaToken: string;
}

/** Carries the proxy's token when Authorization belongs to the upstream. It is never sent on. */
export const TOKEN_HEADER = "portway-token";

/** Checks every request before its route. */
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

  /** Whether requests need a token. */
  get isProtected(): boolean {
    return this.#wanted !== null;
  }

  /**
   * Admits a request.
   * @param address the address that the rate limit counts
   * @throws HttpError 508 for a loop, 417 for another Expect, 429 for too many requests
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

  /** Checks the announced body size. @throws HttpError 417 or 413 when it exceeds `maxBytes` */
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
   * Checks a token.
   * @param inside the token in the description
   * @throws HttpError 401 `token_required` or `token_wrong`
   */
  checkToken(exchange: Exchange, inside: string | null): void {
    this.#check(inside ?? readToken(exchange));
  }

  /** Checks the token when Authorization belongs to the upstream. @throws HttpError 401 as {@link checkToken} */
  checkOwnToken(exchange: Pick<Exchange, "header">): void {
    this.#check(exchange.header(TOKEN_HEADER));
  }

  /**
   * Checks a token in the headers before a body is read.
   * @throws HttpError 401 `token_wrong`; a missing one may follow in the description
   */
  checkHeaderToken(exchange: Exchange): void {
    const given = this.#wanted === null ? null : readToken(exchange);
    if (given !== null) this.#check(given);
  }

  #check(given: string | null): void {
    if (this.#wanted === null) return;
    if (given === null) throw unauthorized("token_required", "This proxy needs its access token.");
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

/** Creates a 503 for a lack of capacity. */
export function busy(): HttpError {
  return new HttpError(503, "busy", "This proxy is busy.", { headers: { "retry-after": "1" } });
}

/** Returns digests with equal length, so that their comparison reveals nothing, not even the token's length. */
function digest(token: string): Uint8Array {
  return createHash("sha256").update(token).digest();
}

function tooManyRequests(waitMs: number): HttpError {
  return new HttpError(429, "too_many_requests", "Too many requests from this address.", {
    headers: { "retry-after": String(Math.ceil(waitMs / 1000)) },
  });
}

/** A Via entry (RFC 9110, section 7.6.3): protocol, receiver, and the target in brackets. */
const VIA_ENTRY = /^\s*[^\s()]+\s+([^\s()]+)(?:\s+\(([^()]*)\))?/;
/** Most stations in the description of a loop. */
const MAX_STATIONS = 10;

const PLAIN_HOST = /^[\w.:[\]-]+$/;

/** Returns this server's Via entry for a request to a host, which reveals loops. */
export function viaEntry(viaToken: string, host: string): string {
  // Hosts may contain brackets, and comments may not.
  return `1.1 ${viaToken} (${PLAIN_HOST.test(host) ? host : host.replace(/[^\w.:[\]-]/g, "_")})`;
}

/** Describes a loop by the Via entries of its last round, and counts the rounds. */
function describeCircle(via: string, viaToken: string): string {
  // Other servers' comments may contain commas. The text after one reads as no entry, or as another station.
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
