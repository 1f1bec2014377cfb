import { Hono } from "hono";
import type { OriginReader } from "../../common/forwarded.ts";
import { networkOf } from "../../common/network.ts";
import { HttpError } from "../../common/http_error.ts";
import type { Exchange, ExchangeEnv } from "../../common/listener/mod.ts";
import type { RateLimiter } from "../../common/rate_limiter.ts";
import { SUBPROTOCOL, TUNNEL_HEADER } from "../../protocol/mod.ts";
import type { ApiArea } from "../face/mod.ts";
import { LabelTaken } from "../store/mod.ts";
import { noSuchTunnel, serverRestarting } from "./errors.ts";
import { TUNNELS_API } from "./open_api.ts";
import { createLabel, createSecret, hashSecret, isSecretOf } from "./secrets.ts";
import type { Sessions } from "./sessions.ts";
import type { Tunnel } from "./tunnel.ts";
import type { Tunnels } from "./tunnels.ts";

export interface RelayRoutesOptions {
  tunnels: Tunnels;
  sessions: Sessions;
  limiter: RateLimiter;
  readOrigin: OriginReader;
  /** Public URL of a label. */
  urlOf(label: string): string;
  lifetimeMs: number;
  bytesLimit: number;
  maxTunnels: number;
  now(): number;
}

/** The API of ephemeral tunnels. */
export function createRelayApi(options: RelayRoutesOptions): ApiArea {
  const { tunnels, sessions, limiter, readOrigin, now } = options;
  const routes = new Hono<ExchangeEnv>();

  routes.post("/api/v1/tunnels/ephemeral", async (context) => {
    // Nobody could open a session to it here.
    if (sessions.draining) throw serverRestarting();
    const waitMs = limiter.take(networkOf(readOrigin(context.env.exchange).address));
    if (waitMs > 0) throw tooManyTunnels(waitMs);
    if (await tunnels.count() >= options.maxTunnels) throw serverFull();
    const secret = createSecret();
    const tunnel = await addTunnel(options, hashSecret(secret));
    return context.json({ ...describe(tunnel), secret }, 201, { "cache-control": "no-store" });
  });

  routes.get("/api/v1/tunnels/ephemeral/:id", async (context) => {
    const tunnel = await findOwned(tunnels, context.req.param("id"), context.env.exchange);
    const fault = tunnel.gate();
    if (fault !== null) throw fault;
    return context.json(describe(tunnel), 200, { "cache-control": "no-store" });
  });

  const describe = ({ record, used }: Tunnel) => ({
    id: record.id,
    url: options.urlOf(record.label),
    createdAt: new Date(record.createdAt).toISOString(),
    expiresAt: new Date(record.expiresAt).toISOString(),
    remainingSeconds: Math.max(0, Math.floor((record.expiresAt - now()) / 1000)),
    bytesUsed: used,
    bytesLimit: record.bytesLimit,
  });

  return { routes, describe: TUNNELS_API };
}

/**
 * Turns an owner's WebSocket handshake into the session that carries their tunnel.
 * @throws HttpError when it is none, or not theirs, or may not be opened now
 */
export async function openSession(
  exchange: Exchange,
  { tunnels, sessions, readOrigin }: Pick<RelayRoutesOptions, "tunnels" | "sessions" | "readOrigin">,
): Promise<void> {
  checkHandshake(exchange);
  const tunnel = await findOwned(tunnels, exchange.header(TUNNEL_HEADER) ?? "", exchange);
  sessions.accept(exchange, tunnel, readOrigin(exchange).address);
}

/** An unknown tunnel and a wrong secret answer alike. */
async function findOwned(tunnels: Tunnels, id: string, exchange: Exchange): Promise<Tunnel> {
  const secret = /^Bearer +([\w-]{1,128})$/i.exec(exchange.header("authorization") ?? "")?.[1];
  if (secret === undefined) {
    throw new HttpError(401, "unauthorized", "The tunnel's secret is wanted as a Bearer token.");
  }
  const tunnel = await tunnels.findById(id);
  if (tunnel === null || !isSecretOf(tunnel.record.secretHash, secret)) throw noSuchTunnel();
  return tunnel;
}

async function addTunnel(options: RelayRoutesOptions, secretHash: string): Promise<Tunnel> {
  const { tunnels, lifetimeMs, bytesLimit, now } = options;
  const createdAt = now();
  const record = {
    id: crypto.randomUUID(),
    secretHash,
    createdAt,
    expiresAt: createdAt + lifetimeMs,
    bytesUsed: 0,
    bytesLimit,
  };
  for (;;) {
    try {
      return await tunnels.add({ ...record, label: createLabel() });
    } catch (error) {
      if (!(error instanceof LabelTaken)) throw error;
    }
  }
}

const serverFull = (): HttpError =>
  new HttpError(503, "no_tunnels_left", "This server has as many tunnels as it may.", {
    details: "Some will expire. Try again later.",
    headers: { "retry-after": "60" },
  });

function tooManyTunnels(waitMs: number): HttpError {
  const seconds = Math.ceil(waitMs / 1000);
  return new HttpError(429, "too_many_tunnels", `Too many tunnels from this address. Try again in ${seconds} s.`, {
    headers: { "retry-after": String(seconds) },
  });
}

function checkHandshake(exchange: Exchange): void {
  if (!exchange.isWebSocket) {
    throw new HttpError(426, "upgrade_required", "A session is a WebSocket.", { headers: { upgrade: "websocket" } });
  }
  const offered = (exchange.header("sec-websocket-protocol") ?? "").split(",").map((name) => name.trim());
  if (offered.includes(SUBPROTOCOL)) return;
  throw new HttpError(
    426,
    "unsupported_version",
    `This server speaks ${SUBPROTOCOL}, the client ${offered.join(", ")}.`,
    {
      details: "Update whichever of the two is older.",
      headers: { "sec-websocket-protocol": SUBPROTOCOL },
    },
  );
}
