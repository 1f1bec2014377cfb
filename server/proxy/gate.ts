import { createHash, timingSafeEqual } from "node:crypto";
import { expectationFailed, HttpError, loopDetected } from "../../common/http_error.ts";
import type { Exchange } from "../../common/listener/mod.ts";
import { createRateLimiter } from "../../common/rate_limiter.ts";

/** What stands before every request of the proxy. */
export interface Gate {
  /** @throws HttpError 508 for a loop, 417 for an Expect that cannot be met, 429 for too many, 503 when full. */
  enter(exchange: Exchange): void;
  /** @throws HttpError 417 or 413 for a body announced as larger than `maxBytes`. */
  checkSize(exchange: Exchange, maxBytes: number): void;
  /** @throws HttpError 401 `token_required` or `token_wrong`; `inside` is a token of the description itself. */
  checkToken(exchange: Exchange, inside: string | null): void;
  /** Before a body is read. @throws HttpError 401 `token_wrong`; none in the header may mean one in the description. */
  checkHeaderToken(exchange: Exchange): void;
  readonly isProtected: boolean;
}

export interface GateOptions {
  token: string | null;
  /** A minute and address; null for no limit. */
  requestsPerMinute: number | null;
  /** What this server calls itself in Via. */
  viaToken: string;
  addressOf: (exchange: Exchange) => string;
}

export function createGate(options: GateOptions): Gate {
  const { token, requestsPerMinute, viaToken } = options;
  const wanted = token === null ? null : digest(token);
  const limiter = requestsPerMinute === null
    ? null
    : createRateLimiter({ burst: requestsPerMinute, perMinute: requestsPerMinute });

  function enter(exchange: Exchange): void {
    if (exchange.header("via")?.includes(viaToken)) {
      throw loopDetected("The request was sent by this proxy itself: its target leads back here.");
    }
    const expect = exchange.header("expect");
    if (expect !== null && expect.toLowerCase() !== "100-continue") {
      throw expectationFailed("The expectation in the Expect header cannot be met.", {
        supported_expectations: ["100-continue"],
      });
    }
    const waitMs = limiter?.take(options.addressOf(exchange)) ?? 0;
    if (waitMs > 0) throw tooManyRequests(waitMs);
  }

  function checkSize(exchange: Exchange, maxBytes: number): void {
    const announced = Number(exchange.header("content-length") ?? 0);
    if (announced <= maxBytes) return;
    if (exchange.header("expect") === null) throw bodyTooLarge(maxBytes);
    throw expectationFailed("The announced body is too large.", {
      suggestion: "Send a smaller body.",
      max_file_size: maxBytes,
      your_file_size: announced,
    });
  }

  function checkToken(exchange: Exchange, inside: string | null): void {
    const given = inside ?? readBearer(exchange);
    if (given === undefined && wanted !== null) {
      throw unauthorized("token_required", "This proxy wants its access token.");
    }
    checkGiven(given);
  }

  function checkHeaderToken(exchange: Exchange): void {
    if (wanted !== null) checkGiven(readBearer(exchange));
  }

  function checkGiven(given: string | undefined): void {
    if (wanted === null || given === undefined || timingSafeEqual(digest(given), wanted)) return;
    throw unauthorized("token_wrong", "This is not the access token of this proxy.");
  }

  return { enter, checkSize, checkToken, checkHeaderToken, isProtected: token !== null };
}

function readBearer(exchange: Exchange): string | undefined {
  return /^Bearer +(\S+)$/i.exec(exchange.header("authorization") ?? "")?.[1];
}

function unauthorized(code: string, message: string): HttpError {
  return new HttpError(401, code, message, { headers: { "www-authenticate": 'Bearer realm="Portway proxy"' } });
}

/** 503 for what there is no room for now. */
export function busy(): HttpError {
  return new HttpError(503, "busy", "This proxy is busy.", { headers: { "retry-after": "1" } });
}

/** 413 for a request body beyond what this proxy takes. */
export function bodyTooLarge(maxBytes: number): HttpError {
  return new HttpError(413, "body_too_large", `The body is larger than ${maxBytes} bytes.`, {
    headers: { connection: "close" },
  });
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
