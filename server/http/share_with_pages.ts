import { errorResponse } from "../../common/http_error.ts";
import type { Exchange } from "../../net/listener/mod.ts";
import type { Cors } from "./cors.ts";
import type { Handler } from "./types.ts";

/** A face of the server's own paths that the proxy's callers see: pages of other origins may read them. */
export function shareWithPages(cors: Cors, face: Handler): Handler {
  const isShared = ({ path }: Exchange) => /^\/(?:health|api\/v1\/openapi\.json)?(?:\?|$)/.test(path);
  return {
    prefix: face.prefix,
    handle(exchange) {
      if (!isShared(exchange)) return face.handle(exchange);
      const preflight = cors.preflight(exchange);
      if (preflight !== null) return preflight;
      const answer = face.handle(exchange);
      if (answer === undefined) return undefined;
      return Promise.resolve(answer).then((response) => response && cors.mark(exchange, response));
    },
    refuse(error, exchange) {
      const response = face.refuse?.(error, exchange) ?? errorResponse(error, exchange.header("accept"));
      return isShared(exchange) ? cors.mark(exchange, response) : response;
    },
  };
}
