import type { Hono } from "hono";
import type { HttpError } from "../../common/http_error.ts";
import type { Exchange, ExchangeEnv } from "../../net/listener/mod.ts";
import type { ApiPart } from "../../common/open_api.ts";

/** A handler's result: a response, or null if it responds through `exchange.response`, now or later. */
export type Answer = Response | null;

/**
 * Handles requests for some hosts or paths. A server offers each request to its handlers in order, and the first that
 * takes it responds.
 */
export interface Handler {
  /** The beginning of every path that the handler takes. The handler sees all requests if left out. */
  readonly prefix?: string;
  /**
   * Handles a request, or returns undefined at once for a request that it does not take.
   * @throws HttpError, directly or by the promise, which {@link refuse} turns into a response
   */
  handle(exchange: Exchange): Answer | Promise<Answer> | undefined;
  /** Turns an error from {@link handle} into a response; JSON, or a plain page for browsers, by default. */
  refuse?(error: HttpError, exchange: Exchange): Response;
}

/** One part of a server, with its handlers. */
export interface Area {
  readonly handlers: readonly Handler[];
  /** Loads its lazy parts. Rejects if that fails, after logging the reason. */
  load?(): Promise<void>;
  /** Refuses new work. Resolves when open requests have finished, or when `signal` aborts. */
  drain?(signal: AbortSignal): Promise<void>;
  /** Ends open requests and stores the remaining data. */
  close(): void | Promise<void>;
}

/** An area's routes below `/api/v1/`. */
export interface ApiArea {
  routes?: Hono<ExchangeEnv>;
  /** Their OpenAPI description. */
  describe: ApiPart;
}
