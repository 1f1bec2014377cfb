import { errorResponse, HttpError, nothingHere } from "../../common/http_error.ts";
import type { Exchange, ExchangeHandler } from "../../net/listener/mod.ts";
import { describeError, type Logger, stackOf } from "../../common/log.ts";
import type { Answer, Handler } from "../http/mod.ts";
import { StoreUnavailable } from "../store/mod.ts";

/** One handler of many handlers: the first that takes a request answers it, errors included; nobody's is 404. */
export function createApp(handlers: readonly Handler[], log: Logger): ExchangeHandler {
  return (exchange) => {
    for (const face of handlers) {
      const answer = tryHandler(face, exchange, log);
      if (answer !== undefined) return answer;
    }
    return errorResponse(nothingHere(), exchange.header("accept"));
  };
}

function tryHandler(face: Handler, exchange: Exchange, log: Logger): Answer | Promise<Answer> | undefined {
  try {
    const answer = face.handle(exchange);
    return answer instanceof Promise ? answer.catch((error) => refuse(face, error, exchange, log)) : answer;
  } catch (error) {
    return refuse(face, error, exchange, log);
  }
}

/** The one place where an error becomes an answer. What a stranger may not read stays in the log. */
function refuse(face: Handler, error: unknown, exchange: Exchange, log: Logger): Response {
  const known = toHttpError(error, exchange, log);
  return face.refuse?.(known, exchange) ?? errorResponse(known, exchange.header("accept"));
}

function toHttpError(error: unknown, { method }: Exchange, log: Logger): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof StoreUnavailable) return storageFailed();
  log.error("request_failed", { method, reason: describeError(error), stack: stackOf(error) });
  return new HttpError(500, "internal_error", "The server failed to answer this request.");
}

/** The log hears of it once, from the relay. */
const storageFailed = (): HttpError =>
  new HttpError(503, "storage_failed", "This server cannot store anything now.", {
    details: "Tunnels that are open go on. Try again later.",
    headers: { "retry-after": "60" },
  });
