import { Hono } from "hono";
import { errorResponse, HttpError } from "../common/http_error.ts";
import type { Exchange, ExchangeEnv, ExchangeHandler } from "../common/listener/mod.ts";
import { describeError, type Logger } from "../common/log.ts";
import { PROJECT, RELEASE } from "../common/release.ts";
import type { Relay } from "./relay/mod.ts";

export interface AppOptions {
  relay: Relay;
  log: Logger;
}

/** Wires the areas: the Host header decides whether a request belongs to a tunnel, then the path decides. */
export function createApp({ relay, log }: AppOptions): ExchangeHandler {
  const app = new Hono<ExchangeEnv>();
  app.get("/health", (context) => context.json({ status: "ok", version: RELEASE, ...relay.count() }));
  app.get("/", (context) => context.text(`${PROJECT} ${RELEASE}\n`));
  app.route("/", relay.routes);
  app.notFound(() => {
    throw new HttpError(404, "not_found", "There is nothing at this address.");
  });
  app.onError((error, context) => answerError(error, context.env.exchange, log));

  return (exchange) => {
    const label = relay.match(exchange.host);
    return label === null ? answer(app, exchange, log) : relay.visit(exchange, label);
  };
}

async function answer(app: Hono<ExchangeEnv>, exchange: Exchange, log: Logger): Promise<Response> {
  try {
    return await app.fetch(exchange.request, { exchange });
  } catch (error) {
    return answerError(error, exchange, log);
  }
}

/** The one place where an error becomes an answer. What a stranger may not read stays in the log. */
function answerError(error: unknown, exchange: Exchange, log: Logger): Response {
  if (error instanceof HttpError) return errorResponse(error, exchange.header("accept"));
  log.error("request_failed", {
    method: exchange.method,
    reason: describeError(error),
    stack: error instanceof Error ? error.stack : undefined,
  });
  return errorResponse(
    new HttpError(500, "internal_error", "The server failed to answer this request."),
    exchange.header("accept"),
  );
}
