import { Hono } from "hono";
import type { OriginReader } from "../../../common/forwarded.ts";
import { HttpError } from "../../../common/http_error.ts";
import type { ExchangeEnv } from "../../../common/listener/mod.ts";
import { networkOf } from "../../../common/network.ts";
import type { RateLimiter } from "../../../common/rate_limiter.ts";
import { LabelTaken } from "../../store/mod.ts";
import { serverRestarting } from "../errors.ts";
import { checkSecret } from "../session/handshake.ts";
import type { Sessions } from "../session/sessions.ts";
import type { Ephemeral } from "../tunnel/ephemeral.ts";
import type { EphemeralRegistry } from "../tunnel/ephemeral_registry.ts";
import { createSecret, hashSecret } from "../../../common/secret.ts";
import { createLabel } from "../tunnel/secrets.ts";

/** What making ephemeral tunnels works with. Lifetime in milliseconds, `bytesLimit` for both directions together. */
export interface EphemeralApiOptions {
  ephemerals: EphemeralRegistry;
  sessions: Pick<Sessions, "draining">;
  limiter: RateLimiter;
  readOrigin: OriginReader;
  /** Public URL of a label. */
  urlOf(label: string): string;
  lifetimeMs: number;
  bytesLimit: number;
  /** Tunnels that have not expired, altogether. */
  maxTunnels: number;
  now(): number;
}

/** The routes of ephemeral tunnels. */
export function createEphemeralRoutes(options: EphemeralApiOptions): Hono<ExchangeEnv> {
  const { ephemerals, sessions, limiter, readOrigin } = options;
  const routes = new Hono<ExchangeEnv>();

  routes.post("/api/v1/tunnels/ephemeral", async (context) => {
    // Nobody could open a session to it here.
    if (sessions.draining) throw serverRestarting();
    const waitMs = limiter.take(networkOf(readOrigin(context.env.exchange).address));
    if (waitMs > 0) throw tooManyTunnels(waitMs);
    if (await ephemerals.count() >= options.maxTunnels) throw serverFull();
    const secret = createSecret();
    const tunnel = await addTunnel(options, hashSecret(secret));
    return context.json({ ...describe(tunnel, options), secret }, 201, NO_STORE);
  });

  routes.get("/api/v1/tunnels/ephemeral/:id", async (context) => {
    const tunnel = checkSecret(await ephemerals.findById(context.req.param("id")), context.env.exchange);
    const fault = tunnel.gate();
    if (fault !== null) throw fault;
    return context.json(describe(tunnel, options), 200, NO_STORE);
  });

  return routes;
}

const NO_STORE = { "cache-control": "no-store" };

function describe({ record, used }: Ephemeral, { urlOf, now }: EphemeralApiOptions) {
  return {
    id: record.id,
    url: urlOf(record.label),
    createdAt: new Date(record.createdAt).toISOString(),
    expiresAt: new Date(record.expiresAt).toISOString(),
    remainingSeconds: Math.max(0, Math.floor((record.expiresAt - now()) / 1000)),
    bytesUsed: used,
    bytesLimit: record.bytesLimit,
  };
}

async function addTunnel(options: EphemeralApiOptions, secretHash: string): Promise<Ephemeral> {
  const { ephemerals, lifetimeMs, bytesLimit, now } = options;
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
      return await ephemerals.add({ ...record, label: createLabel() });
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
