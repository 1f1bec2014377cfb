import { Buffer } from "node:buffer";
import { Hono } from "hono";
import { errorResponse, HttpError } from "../common/http_error.ts";
import type { Exchange, ExchangeEnv, ExchangeHandler } from "../common/listener/mod.ts";
import { describeError, type Logger, stackOf } from "../common/log.ts";
import { RELEASE } from "../common/release.ts";
import { describeApi, OPEN_API_PATH } from "./open_api.ts";
import { type Proxy, type ProxyApiOptions, welcome, type WelcomeOptions } from "./proxy/mod.ts";
import type { Relay } from "./relay/mod.ts";
import { StoreUnavailable } from "./store/mod.ts";

export interface AppOptions {
  relay: Relay;
  proxy: Proxy;
  welcomeOptions: WelcomeOptions & ProxyApiOptions;
  log: Logger;
}

/** Wires the areas: the Host header decides whether a request belongs to a tunnel, then the path decides. */
export function createApp({ relay, proxy, welcomeOptions, log }: AppOptions): ExchangeHandler {
  const app = new Hono<ExchangeEnv>();
  const readHealth = () => ({ status: relay.fault() === null ? "ok" : "storage_failed", ...relay.count() });
  addOwnRoutes(app, welcomeOptions, readHealth);
  app.route("/", relay.routes);
  finish(app, log);

  return (exchange) => {
    const label = relay.match(exchange.host);
    if (label !== null) {
      const answer = relay.visit(exchange, label);
      return answer instanceof Promise ? answer.catch((error) => answerError(error, exchange, log)) : answer;
    }
    if (relay.isSession(exchange)) return openSession(relay, exchange, log);
    return answerProxy(proxy, exchange, () => answer(app, exchange, log)) ?? answer(app, exchange, log);
  };
}

async function openSession(relay: Relay, exchange: Exchange, log: Logger): Promise<Response | null> {
  try {
    await relay.openSession(exchange);
    return null;
  } catch (error) {
    return answerError(error, exchange, log);
  }
}

/** What every server answers. Each says its length, as HEAD has no body that would tell. */
function addOwnRoutes(app: Hono<ExchangeEnv>, options: AppOptions["welcomeOptions"], readHealth: () => object): void {
  app.get("/health", () => sizedJson(JSON.stringify({ status: "ok", version: RELEASE, ...readHealth() })));
  app.get("/", (context) => welcome(context.req.header("accept") ?? null, options));
  let api: string | null = null;
  app.get(OPEN_API_PATH, () => sizedJson(api ??= JSON.stringify(describeApi(options))));
}

function sizedJson(text: string): Response {
  const length = String(Buffer.byteLength(text));
  return new Response(text, { headers: { "content-type": "application/json", "content-length": length } });
}

/** What of a server the proxy's callers see: its own paths, and three more that their pages may read. Else null. */
function answerProxy(
  proxy: Proxy,
  exchange: Exchange,
  open: () => Promise<Response>,
): Promise<Response | null> | null {
  if (proxy.takes(exchange)) return proxy.handle(exchange);
  return /^\/(health|api\/v1\/openapi\.json)?(\?|$)/.test(exchange.target) ? proxy.cors.wrap(exchange, open) : null;
}

export type ProxyAppOptions = Pick<AppOptions, "proxy" | "welcomeOptions" | "log">;

/** A server that is only a proxy. */
export function createProxyApp({ proxy, welcomeOptions, log }: ProxyAppOptions): ExchangeHandler {
  const app = new Hono<ExchangeEnv>();
  addOwnRoutes(app, welcomeOptions, () => ({}));
  finish(app, log);
  return (exchange) => answerProxy(proxy, exchange, () => answer(app, exchange, log)) ?? answer(app, exchange, log);
}

function finish(app: Hono<ExchangeEnv>, log: Logger): void {
  app.notFound(() => {
    throw new HttpError(404, "not_found", "There is nothing at this address.");
  });
  app.onError((error, context) => answerError(error, context.env.exchange, log));
}

async function answer(app: Hono<ExchangeEnv>, exchange: Exchange, log: Logger): Promise<Response> {
  try {
    return await app.fetch(exchange.request, { exchange });
  } catch (error) {
    return answerError(error, exchange, log);
  }
}

/** The log hears of it once, from the relay. */
const storageFailed = (): HttpError =>
  new HttpError(503, "storage_failed", "This server cannot store anything now.", {
    details: "Tunnels that are open go on. Try again later.",
    headers: { "retry-after": "60" },
  });

/** The one place where an error becomes an answer. What a stranger may not read stays in the log. */
function answerError(error: unknown, exchange: Exchange, log: Logger): Response {
  if (error instanceof HttpError) return errorResponse(error, exchange.header("accept"));
  if (error instanceof StoreUnavailable) return errorResponse(storageFailed(), exchange.header("accept"));
  log.error("request_failed", {
    method: exchange.method,
    reason: describeError(error),
    stack: stackOf(error),
  });
  return errorResponse(
    new HttpError(500, "internal_error", "The server failed to answer this request."),
    exchange.header("accept"),
  );
}
