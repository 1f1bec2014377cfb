import { delay } from "../delay.ts";
import { errorResponse, HttpError } from "../http_error.ts";
import { describeError, type Logger, stackOf } from "../log.ts";
import { DenoExchange } from "./deno_exchange.ts";
import { BodyCut } from "./types.ts";
import type { ExchangeHandler, Listener, ListenOptions } from "./types.ts";

/**
 * Listens with `Deno.serve`, for comparison, and behind a proxy that does what it cannot. It has no time limits and no
 * limit of connections, reads uploads in chunks ahead without bound, sorts and joins a request's fields, refuses a body
 * with GET, answers `Expect` by itself, upgrades to WebSocket alone and without extensions, and sends neither interim
 * answers nor trailers, reason phrases or an answer of 205.
 */
export function listenDeno(options: ListenOptions, handler: ExchangeHandler): Promise<Listener> {
  const { log } = options;
  let server = serve(options, handler);
  const { hostname, port } = server.address;
  const closing = new AbortController();
  void keepListening();

  /** Deno stops listening for good when it cannot accept, as when the system has no more descriptors for a moment. */
  async function keepListening(): Promise<void> {
    for (;;) {
      const failure = await server.failed;
      if (closing.signal.aborted) return;
      log.error("accept_failed", { reason: describeError(failure) });
      for (let next = null; next === null;) {
        await delay(RELISTEN_MS, closing.signal);
        if (closing.signal.aborted) return;
        next = tryTo(() => serve({ ...options, port }, handler));
        server = next ?? server;
      }
      log.info("listening_again");
    }
  }

  return Promise.resolve({
    hostname,
    port,
    connections: -1,
    close() {
      closing.abort();
      return server.close();
    },
    abort() {
      closing.abort();
      server.abort();
    },
  });
}

const RELISTEN_MS = 250;

/** The result, or null when the system does not let it be done now. */
function tryTo<T>(run: () => T): T | null {
  try {
    return run();
  } catch {
    return null;
  }
}

/** `Deno.serve` on one address. `failed` resolves with the reason when it ends by itself. */
function serve({ hostname, port, tls, log }: ListenOptions, handler: ExchangeHandler) {
  const abort = new AbortController();
  const server = Deno.serve({
    hostname,
    port,
    signal: abort.signal,
    onListen() {},
    onError: (error) => failedExchange(error, log),
    ...tls,
  }, (request, info) => {
    const secure = tls !== undefined;
    const isHttp2 = secure && !request.headers.has("host");
    return answerRequest(new DenoExchange(request, info.remoteAddr.hostname, { secure, isHttp2 }), handler);
  });
  // Deno throws, outside of any call, at an abort of a server that has ended already or is told to.
  let isOver = false;
  const failed = new Promise<unknown>((resolve) => {
    server.finished.catch(resolve).finally(() => isOver = true);
  });
  return {
    address: server.addr,
    failed,
    close() {
      if (isOver) return Promise.resolve();
      isOver = true;
      return server.shutdown();
    },
    abort: () => isOver ? undefined : abort.abort(),
  };
}

/** What the handler answers, by whichever of the two ways. */
export async function answerRequest(exchange: DenoExchange, handler: ExchangeHandler): Promise<Response> {
  if (exchange.fault !== null) return errorResponse(exchange.fault, exchange.header("accept"));
  if (exchange.mayBeEmpty) await exchange.findBody();
  return await handler(exchange) ?? await exchange.reply.response;
}

/** What a handler threw, as an answer. */
export function failedExchange(error: unknown, log: Logger): Response {
  if (!(error instanceof BodyCut)) {
    log.error("exchange_failed", { reason: describeError(error), stack: stackOf(error) });
  }
  return errorResponse(new HttpError(500, "internal_error", "The server failed to answer this request."), null);
}
