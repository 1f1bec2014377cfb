import { errorResponse, HttpError, nothingHere } from "../../common/http_error.ts";
import { BodyCut, type Exchange, type ExchangeHandler } from "../../net/listener/mod.ts";
import { describeError, type Logger, stackOf } from "../../common/log.ts";
import type { Answer, Handler } from "../http/mod.ts";
import { StoreUnavailable } from "../store/mod.ts";

/**
 * Combines handlers into one. The first handler that takes a request responds to it, also if it fails. A request that
 * no handler takes gets 404.
 * @param handlers in the order in which they see a request; with a promise, requests wait until it resolves
 */
export function createApp(
  handlers: readonly Handler[] | Promise<readonly Handler[]>,
  log: Logger,
): ExchangeHandler {
  let ready: readonly Handler[] | null = null;
  const waiting = Promise.resolve(handlers);
  if (handlers instanceof Promise) void waiting.then((opened) => ready = opened);
  else ready = handlers;
  return (exchange) =>
    ready === null ? waiting.then((opened) => dispatch(opened, exchange, log)) : dispatch(ready, exchange, log);
}

function dispatch(handlers: readonly Handler[], exchange: Exchange, log: Logger): Answer | Promise<Answer> {
  for (const handler of handlers) {
    if (handler.prefix !== undefined && !exchange.path.startsWith(handler.prefix)) continue;
    const answer = tryHandler(handler, exchange, log);
    if (answer !== undefined) return answer;
  }
  if (exchange.path === "*") return new Response(null, { status: 204, headers: { allow: METHODS } });
  return errorResponse(nothingHere(), exchange.header("accept"));
}

/** The response to `OPTIONS *`, which asks about the server in general (RFC 9110, section 9.3.7). */
const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

function tryHandler(handler: Handler, exchange: Exchange, log: Logger): Answer | Promise<Answer> | undefined {
  try {
    const answer = handler.handle(exchange);
    return answer instanceof Promise ? answer.catch((error) => refuse(handler, error, exchange, log)) : answer;
  } catch (error) {
    return refuse(handler, error, exchange, log);
  }
}

/** Turns an error into a response. Details that visitors must not read stay in the log. */
function refuse(handler: Handler, error: unknown, exchange: Exchange, log: Logger): Answer {
  // The visitor disconnected or sent an incomplete body. The server has not failed, and cannot respond.
  if (error instanceof BodyCut) {
    exchange.response.cut();
    return null;
  }
  const known = toHttpError(error, exchange, log);
  return handler.refuse?.(known, exchange) ?? errorResponse(known, exchange.header("accept"));
}

function toHttpError(error: unknown, { method }: Exchange, log: Logger): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof StoreUnavailable) return storageFailed();
  log.error("request_failed", { method, reason: describeError(error), stack: stackOf(error) });
  return new HttpError(500, "internal_error", "The server failed to respond to this request.");
}

/** 503 `storage_failed`. The relay logs the failure once. */
const storageFailed = (): HttpError =>
  new HttpError(503, "storage_failed", "This server cannot store anything now.", {
    details: "Tunnels that are open continue to work. Try again later.",
    headers: { "retry-after": "60" },
  });
