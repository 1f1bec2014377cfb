import { networkOf, type OriginReader } from "../../../net/forwarded.ts";
import { HttpError, serverRestarting } from "../../../common/http_error.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import type { RateLimiter } from "../../../common/rate_limiter.ts";
import { checkQuery, type Handler } from "../../http/mod.ts";
import { LabelTaken, TooManyTunnels } from "../../store/mod.ts";
import { checkSecret } from "../session/handshake.ts";
import type { Sessions } from "../session/sessions.ts";
import type { Ephemeral } from "../tunnel/ephemeral.ts";
import type { EphemeralRegistry } from "../tunnel/ephemeral_registry.ts";
import { createSecret, hashSecret } from "../../../common/secret.ts";
import { createLabel } from "../tunnel/secrets.ts";

/** Relay parts and limits for ephemeral tunnels. `bytesLimit` counts both directions together. */
export interface EphemeralHandlerOptions {
  ephemerals: EphemeralRegistry;
  sessions: Pick<Sessions, "draining">;
  limiter: RateLimiter;
  readOrigin: OriginReader;
  /** Returns a label's public URL. */
  urlOf(label: string): string;
  lifetimeMs: number;
  bytesLimit: number;
  /** Unexpired tunnels that the server may have. */
  maxTunnels: number;
  now(): number;
}

const NO_PARAMETERS: ReadonlySet<string> = new Set();

/** The path, with an optional tunnel id. */
const PATH = /^\/api\/v1\/tunnels\/ephemeral(?:\/([^/?]+))?(?:\?|$)/;

/** Creates the handler that makes ephemeral tunnels and looks them up. It loads with the server, for a quick start. */
export function createEphemeralHandler(options: EphemeralHandlerOptions): Handler {
  return {
    prefix: "/api/v1/tunnels/ephemeral",
    handle(exchange) {
      const match = PATH.exec(exchange.path);
      if (match === null) return undefined;
      checkQuery(exchange.path, NO_PARAMETERS);
      const { method } = exchange, id = match[1] as string | undefined;
      if (id === undefined) return method === "POST" ? create(exchange, options) : undefined;
      return method === "GET" || method === "HEAD" ? lookUp(exchange, id, options) : undefined;
    },
  };
}

async function create(exchange: Exchange, options: EphemeralHandlerOptions): Promise<Response> {
  const { sessions, limiter, readOrigin } = options;
  // A draining server accepts no session for the tunnel.
  if (sessions.draining) throw serverRestarting();
  const waitMs = limiter.take(networkOf(readOrigin(exchange).address));
  if (waitMs > 0) throw tooManyTunnels(waitMs);
  const secret = createSecret();
  const tunnel = await addTunnel(options, hashSecret(secret));
  return Response.json({ ...describe(tunnel, options), secret }, { status: 201, headers: NO_STORE });
}

async function lookUp(exchange: Exchange, id: string, options: EphemeralHandlerOptions): Promise<Response> {
  const tunnel = checkSecret(await options.ephemerals.findById(id), exchange);
  const closure = tunnel.endpoint.findClosure();
  if (closure !== null) throw closure.refuse();
  return Response.json(describe(tunnel, options), { headers: NO_STORE });
}

const NO_STORE = { "cache-control": "no-store" };

function describe({ record, traffic }: Ephemeral, { urlOf, now }: EphemeralHandlerOptions) {
  return {
    id: record.id,
    url: urlOf(record.label),
    createdAt: new Date(record.createdAt).toISOString(),
    expiresAt: new Date(record.expiresAt).toISOString(),
    remainingSeconds: Math.max(0, Math.floor((record.expiresAt - now()) / 1000)),
    bytesUsed: traffic.used,
    bytesLimit: record.bytesLimit,
  };
}

async function addTunnel(options: EphemeralHandlerOptions, secretHash: string): Promise<Ephemeral> {
  const { ephemerals, lifetimeMs, bytesLimit, maxTunnels, now } = options;
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
      return await ephemerals.add({ ...record, label: createLabel() }, maxTunnels);
    } catch (error) {
      if (error instanceof TooManyTunnels) throw serverFull();
      if (!(error instanceof LabelTaken)) throw error;
    }
  }
}

const serverFull = (): HttpError =>
  new HttpError(503, "no_tunnels_left", "This server has too many tunnels.", {
    details: "Try again later, when some have expired.",
    headers: { "retry-after": "60" },
  });

function tooManyTunnels(waitMs: number): HttpError {
  const seconds = Math.ceil(waitMs / 1000);
  return new HttpError(429, "too_many_tunnels", `Too many tunnels from this address. Try again in ${seconds} s.`, {
    headers: { "retry-after": String(seconds) },
  });
}
