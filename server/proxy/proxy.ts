import { randomBytes } from "node:crypto";
import { errorResponse, HttpError } from "../../common/http_error.ts";
import type { Exchange } from "../../common/listener/mod.ts";
import { describeError, type Logger } from "../../common/log.ts";
import { createGuard, type OwnAddressCheck, type Resolver } from "../guard/mod.ts";
import { createAlarmClock } from "./alarm_clock.ts";
import { type Answer, toResponse } from "./answer.ts";
import { type Cors, createCors } from "./cors.ts";
import { createDescriptionMemory } from "./description_memory.ts";
import { createFiles } from "./files.ts";
import { createFormRoute } from "./form.ts";
import { createGate } from "./gate.ts";
import { createPerform } from "./perform.ts";
import { createRequestRoute } from "./request.ts";
import type { Route } from "./route.ts";
import { createUpstream, toUpstreamError } from "./upstream/mod.ts";

export interface ProxyOptions {
  log: Logger;
  /** Hosts, addresses and CIDR ranges that may be reached although they are not public. */
  allow: readonly string[];
  /** Whether a host and port are this server's own, tunnels included. */
  isOwnHost: (hostname: string, port: number) => boolean;
  /** Whether this server answers at an address and port. */
  isOwnAddress: OwnAddressCheck;
  /** The origin that a request was made to, and whether one can only be this server's. */
  requestOrigin: (exchange: Exchange) => string;
  isOwnOrigin: (origin: string) => boolean;
  /** Who a request is counted for. */
  addressOf: (exchange: Exchange) => string;
  /** Origins whose pages may use the proxy, or `*`. */
  origins: readonly string[];
  /** Folder to serve files from, or null. */
  files: string | null;
  token: string | null;
  /** A minute and address; null for no limit. */
  requestsPerMinute: number | null;
  /** Requests carried out at a time. */
  maxConcurrent: number;
  /** Bytes of an answer that is held in memory. */
  maxBytes: number;
  /** Bytes of a JSON description, and of a describing part of a form. */
  maxDescriptionBytes: number;
  /** Bytes of a form, streamed on. */
  maxUploadBytes: number;
  timeoutMs: number;
  streamIdleMs: number;
  /** PEM texts trusted in targets' certificates besides the usual ones. */
  caCerts?: readonly string[];
  resolver?: Resolver;
}

/** The CORS proxy: `/proxy/request`, `/proxy/form` and `/proxy/files/*`. */
export interface Proxy {
  /** Answers any request whose path starts with `/proxy/`, errors included. */
  handle(exchange: Exchange): Promise<Response>;
  /** The same preflight and marks for what else belongs to this face: `/` and `/health`. */
  readonly cors: Cors;
  /** Drops idle connections; those in use end with their requests. */
  close(): void;
}

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Creates the proxy; whoever creates it closes it.
 * @throws SyntaxError for an entry of `allow` that cannot be read.
 */
export function createProxy(options: ProxyOptions): Proxy {
  const { log } = options;
  const viaToken = `portway-${randomBytes(9).toString("hex")}`;
  const guard = createGuard(options);
  const upstream = createUpstream({ guard, connectTimeoutMs: CONNECT_TIMEOUT_MS, caCerts: options.caCerts });
  const cors = createCors(options);
  const gate = createGate({ ...options, viaToken });
  const clock = createAlarmClock();
  const perform = createPerform({ upstream, guard, clock, viaToken, limits: options });
  const memory = createDescriptionMemory(options.maxDescriptionBytes);
  const form = createFormRoute({ ...options, gate, perform, memory, clock });
  const request = createRequestRoute({ ...options, gate, perform, memory, clock, form });
  const files = createFiles({ root: options.files, gate });
  const routes: Readonly<Record<string, Route | undefined>> = { "/proxy/request": request, "/proxy/form": form };

  async function handle(exchange: Exchange): Promise<Response> {
    const preflight = cors.preflight(exchange);
    if (preflight) return preflight;
    try {
      return toResponse(await answer(exchange), cors.headers(exchange));
    } catch (error) {
      const known = error instanceof HttpError ? error : toUpstreamError(error);
      if (known.code === "upstream_failed") log.warn("proxy_failed", { reason: describeError(error) });
      return cors.mark(exchange, errorResponse(known, exchange.header("accept")));
    }
  }

  async function answer(exchange: Exchange): Promise<Answer> {
    const path = exchange.target.split("?", 1)[0];
    const route = routes[path] ?? (path.startsWith("/proxy/files/") ? files : null);
    if (!route) throw new HttpError(404, "not_found", "There is nothing at this path.");
    cors.check(exchange);
    gate.enter(exchange);
    return await route(exchange);
  }

  function close(): void {
    clock.stop();
    upstream.close();
  }

  return { handle, cors, close };
}
