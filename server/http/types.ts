import type { Hono } from "hono";
import type { HttpError } from "../../common/http_error.ts";
import type { Exchange, ExchangeEnv } from "../../net/listener/mod.ts";
import type { ApiPart } from "../../common/open_api.ts";

/** What a handler gives back: a response, or null when it answers by the exchange's own reply, now or later. */
export type Answer = Response | null;

/**
 * One face of the server: what answers at hosts or paths of its own. A server asks its handlers in their order,
 * and the first that takes a request answers it.
 */
export interface Handler {
  /** The beginning of every path that the handler takes. It sees no other requests; all of them if left out. */
  readonly prefix?: string;
  /**
   * Answers a request, or says at once, with undefined, that it is another face's.
   * @throws HttpError, at once or by its promise, for what {@link refuse} tells the visitor
   */
  handle(exchange: Exchange): Answer | Promise<Answer> | undefined;
  /** Makes an answer of what {@link handle} threw; JSON, or a plain page for browsers, when left out. */
  refuse?(error: HttpError, exchange: Exchange): Response;
}

/** One part of a server: the handlers it answers with, and its end. */
export interface Area {
  readonly handlers: readonly Handler[];
  /** Loads what it has put off. Rejects when that fails, which the log knows by then. */
  load?(): Promise<void>;
  /** Takes nothing new. Resolves when what is in flight is over, or when `signal` aborts. */
  drain?(signal: AbortSignal): Promise<void>;
  /** Ends what it still has, and keeps what is to be kept. */
  close(): void | Promise<void>;
}

/** What one area adds to the API below `/api/v1/`. */
export interface ApiArea {
  routes?: Hono<ExchangeEnv>;
  /** What the OpenAPI document says of them. */
  describe: ApiPart;
}
