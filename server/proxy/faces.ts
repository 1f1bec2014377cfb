import { errorResponse } from "../../common/http_error.ts";
import type { Exchange } from "../../common/listener/mod.ts";
import type { Face } from "../face/mod.ts";
import type { CorsProxy } from "./proxy.ts";

/** The proxy itself, which answers its own errors: pages of other origins may read them. */
export function createProxyFace(proxy: CorsProxy): Face {
  return { answer: (exchange) => proxy.takes(exchange) ? proxy.handle(exchange) : undefined };
}

/** The server's own paths that the proxy's callers see: pages of other origins may read them. */
export function shareWithPages({ cors }: CorsProxy, face: Face): Face {
  const isShared = ({ path }: Exchange) => /^\/(?:health|api\/v1\/openapi\.json)?(?:\?|$)/.test(path);
  return {
    answer(exchange) {
      if (!isShared(exchange)) return face.answer(exchange);
      const preflight = cors.preflight(exchange);
      if (preflight !== null) return preflight;
      const answer = face.answer(exchange);
      if (answer === undefined) return undefined;
      return Promise.resolve(answer).then((response) => response && cors.mark(exchange, response));
    },
    refuse(error, exchange) {
      const response = face.refuse?.(error, exchange) ?? errorResponse(error, exchange.header("accept"));
      return isShared(exchange) ? cors.mark(exchange, response) : response;
    },
  };
}
