import { errorResponse } from "../../common/http_error.ts";
import type { Exchange } from "../../net/listener/mod.ts";
import type { Cors } from "./cors.ts";
import type { Handler } from "./types.ts";

/** Wraps a handler so that pages from other origins may read `/`, `/health` and the OpenAPI document. */
export function shareWithPages(cors: Cors, handler: Handler): Handler {
  const isShared = ({ path }: Exchange) => /^\/(?:health|api\/v1\/openapi\.json)?(?:\?|$)/.test(path);
  return {
    prefix: handler.prefix,
    handle(exchange) {
      if (!isShared(exchange)) return handler.handle(exchange);
      const preflight = cors.preflight(exchange);
      if (preflight !== null) return preflight;
      const response = handler.handle(exchange);
      if (response === undefined) return undefined;
      return Promise.resolve(response).then((sent) => sent && cors.mark(exchange, sent));
    },
    refuse(error, exchange) {
      const response = handler.refuse?.(error, exchange) ?? errorResponse(error, exchange.header("accept"));
      return isShared(exchange) ? cors.mark(exchange, response) : response;
    },
  };
}
