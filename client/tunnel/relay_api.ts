import type { Connect } from "../../net/connection/mod.ts";
import {
  asRecord,
  call,
  type CallLimits,
  explainCallFailure,
  type HttpCall,
  notPortway,
  parseJsonOrNull,
  parseRefusal,
} from "../api/mod.ts";

/** An ephemeral tunnel as its owner knows it. */
export interface OwnedTunnel {
  id: string;
  /** Proves ownership: for resuming, and for every session. */
  secret: string;
  url: string;
  /** Unix milliseconds, by this machine's clock. */
  expiresAt: number;
}

/**
 * Makes an ephemeral tunnel.
 * @throws ApiUnreachable, ApiRefused
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
 * @throws ApiUnreachable, ApiRefused (404 and 410 when it is gone)
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

async function ask(connect: Connect, request: HttpCall): Promise<Record<string, unknown>> {
  const answer = await call(connect, request).catch((error) => {
    throw explainCallFailure(request.url, error);
  });
  if (answer.status >= 200 && answer.status < 300) return asRecord(parseJsonOrNull(answer.text));
  throw parseRefusal(request.url, answer.status, answer.text);
}

/** Difference of two clocks, and the time an answer travels, for which the relay's own time is shown as it is. */
const CLOCK_TOLERANCE_MS = 5000;

function parseTunnel(answer: Record<string, unknown>, server: URL, now: number): OwnedTunnel {
  const { id, secret, url, expiresAt, remainingSeconds } = answer;
  const time = typeof expiresAt === "string" ? Date.parse(expiresAt) : NaN;
  if (typeof id !== "string" || typeof secret !== "string" || typeof url !== "string" || !isPlainUrl(url) || !time) {
    throw notPortway(server);
  }
  // With a clock that is wrong by an hour a tunnel would seem to be over before it began.
  const remaining = typeof remainingSeconds === "number" ? now + remainingSeconds * 1000 : time;
  return { id, secret, url, expiresAt: Math.abs(remaining - time) > CLOCK_TOLERANCE_MS ? remaining : time };
}

/** A URL that is shown as it is: nothing in it steers a terminal. */
const isPlainUrl = (url: string) => /^https?:\/\/[\x21-\x7e]+$/.test(url) && URL.canParse(url);
