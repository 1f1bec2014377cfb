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

/** An ephemeral tunnel with its secret. */
export interface OwnedTunnel {
  id: string;
  /** Proof of ownership, for resuming and for every session. */
  secret: string;
  url: string;
  /** Unix milliseconds by this machine's clock. */
  expiresAt: number;
}

/**
 * Creates an ephemeral tunnel.
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
 * Fetches an existing tunnel to resume it.
 * @throws ApiUnreachable, ApiRefused (404 and 410 when it is over)
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

/** Tolerance for clock differences and network time, within which the relay's own time is shown unchanged. */
const CLOCK_TOLERANCE_MS = 5000;

function parseTunnel(answer: Record<string, unknown>, server: URL, now: number): OwnedTunnel {
  const { id, secret, url, expiresAt, remainingSeconds } = answer;
  const time = typeof expiresAt === "string" ? Date.parse(expiresAt) : NaN;
  if (typeof id !== "string" || typeof secret !== "string" || typeof url !== "string" || !isPlainUrl(url) || !time) {
    throw notPortway(server);
  }
  // If this machine's clock is wrong by an hour, the relay's time would end the tunnel at once.
  const remaining = typeof remainingSeconds === "number" ? now + remainingSeconds * 1000 : time;
  return { id, secret, url, expiresAt: Math.abs(remaining - time) > CLOCK_TOLERANCE_MS ? remaining : time };
}

/** A printable URL, which cannot control a terminal. */
const isPlainUrl = (url: string) => /^https?:\/\/[\x21-\x7e]+$/.test(url) && URL.canParse(url);
