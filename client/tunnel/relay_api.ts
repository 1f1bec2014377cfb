import { describeError } from "../../common/log.ts";
import { type Connect, ConnectError } from "../../common/connection/mod.ts";
import { AnswerMissing, call, type CallLimits, type HttpCall } from "./http_call.ts";
import { ResponseSyntaxError } from "../../common/http1/mod.ts";

/** An ephemeral tunnel as its owner knows it. */
export interface OwnedTunnel {
  id: string;
  /** Proves ownership: for resuming, and for every session. */
  secret: string;
  url: string;
  /** Unix milliseconds, by this machine's clock. */
  expiresAt: number;
}

/** The relay could not be asked, or is none. Worth trying again. */
export class RelayUnreachable extends Error {
  override name = "RelayUnreachable";
}

/** The relay refused. Trying again changes nothing unless `retryAfterMs` says when it would. */
export class RelayRefused extends Error {
  override name = "RelayRefused";
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/**
 * Makes an ephemeral tunnel.
 * @throws RelayUnreachable, RelayRefused
 */
export async function createEphemeralTunnel(
  connect: Connect,
  server: URL,
  limits: CallLimits = {},
): Promise<OwnedTunnel> {
  const answer = await ask(connect, { ...limits, method: "POST", url: new URL("/api/v1/tunnels/ephemeral", server) });
  return parseTunnel(answer, server, Date.now());
}

/**
 * Looks up a tunnel of ours, to resume it.
 * @throws RelayUnreachable, RelayRefused (404 and 410 when it is gone)
 */
export async function fetchEphemeralTunnel(
  connect: Connect,
  server: URL,
  owned: Pick<OwnedTunnel, "id" | "secret">,
  limits: CallLimits = {},
): Promise<OwnedTunnel> {
  const url = new URL(`/api/v1/tunnels/ephemeral/${encodeURIComponent(owned.id)}`, server);
  const headers = { authorization: `Bearer ${owned.secret}` };
  const answer = await ask(connect, { ...limits, method: "GET", url, headers });
  return parseTunnel({ ...answer, secret: owned.secret }, server, Date.now());
}

/** Turns what a failed call threw into one of ours, with a line for the user. */
export function explainCallFailure(server: URL, error: unknown): Error {
  const where = server.origin;
  if (error instanceof ConnectError) {
    return new RelayUnreachable(`cannot reach the server ${where}: ${error.message}`, { cause: error });
  }
  if (error instanceof ResponseSyntaxError) return notPortway(where);
  if (error instanceof AnswerMissing) {
    return new RelayUnreachable(`the server ${where} closed the connection without an answer`, { cause: error });
  }
  return new RelayUnreachable(`the connection to the server ${where} broke: ${describeError(error)}`, { cause: error });
}

/** The error that an answer of the relay's API carries. */
export function parseRefusal(server: URL, status: number, text: string): RelayRefused | RelayUnreachable {
  const { code, message, details } = (parseJson(text).error ?? {}) as Record<string, unknown>;
  if (typeof code !== "string" || typeof message !== "string") {
    // A proxy in front of a server that restarts answers these on its own.
    if (status >= 502 && status <= 504) return new RelayUnreachable(`the server ${server.origin} is not available`);
    return notPortway(server.origin);
  }
  if (status >= 500) return new RelayUnreachable(message);
  // The details of other refusals are for visitors.
  return new RelayRefused(
    status,
    code,
    code === "unsupported_version" ? `${message} ${details ?? ""}`.trim() : message,
  );
}

const notPortway = (where: string) => new RelayRefused(0, "not_portway", `${where} is not a Portway server`);

async function ask(connect: Connect, request: HttpCall): Promise<Record<string, unknown>> {
  const answer = await call(connect, request).catch((error) => {
    throw explainCallFailure(request.url, error);
  });
  if (answer.status >= 200 && answer.status < 300) return parseJson(answer.text);
  throw parseRefusal(request.url, answer.status, answer.text);
}

function parseJson(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value as Record<string, unknown> : {};
  } catch {
    return {};
  }
}

/** Difference of two clocks, and the time an answer travels, for which the relay's own time is shown as it is. */
const CLOCK_TOLERANCE_MS = 5000;

function parseTunnel(answer: Record<string, unknown>, server: URL, now: number): OwnedTunnel {
  const { id, secret, url, expiresAt, remainingSeconds } = answer;
  const time = typeof expiresAt === "string" ? Date.parse(expiresAt) : NaN;
  if (typeof id !== "string" || typeof secret !== "string" || typeof url !== "string" || !isPlainUrl(url) || !time) {
    throw notPortway(server.origin);
  }
  // With a clock that is wrong by an hour a tunnel would seem to be over before it began.
  const remaining = typeof remainingSeconds === "number" ? now + remainingSeconds * 1000 : time;
  return { id, secret, url, expiresAt: Math.abs(remaining - time) > CLOCK_TOLERANCE_MS ? remaining : time };
}

/** A URL that is shown as it is: nothing in it steers a terminal. */
const isPlainUrl = (url: string) => /^https?:\/\/[\x21-\x7e]+$/.test(url) && URL.canParse(url);
