import { delay } from "../../common/delay.ts";
import { errorResponse, HttpError } from "../../common/http_error.ts";
import { describeError, type Logger, stackOf } from "../../common/log.ts";
import { DenoExchange } from "./deno_exchange.ts";
import { DEFAULT_LIMITS } from "./limits.ts";
import { sendResponse } from "./send_response.ts";
import { BodyCut } from "./types.ts";
import type { ExchangeHandler, Listener, ListenOptions } from "./types.ts";

/**
 * Listens with `Deno.serve`, for comparison, and behind a proxy that provides the missing parts. This listener has no
 * time limits and no connection limit. Deno reads chunked uploads ahead without bound, sorts and joins request fields,
 * refuses a body with GET, handles `Expect` itself, and upgrades to WebSocket only, without extensions. Interim
 * responses, trailers, reason phrases and 205 are not sent. At a response's end Deno drops the rest of the upload, and
 * over HTTP/2 resets the stream: curl before 8 sometimes loses the response. With TLS the second of two small writes
 * waits 40 ms. All descriptors may be used: Deno 2.9 panics if none are left while modules load.
 */
export function listenDeno(options: ListenOptions, handler: ExchangeHandler): Promise<Listener> {
  const secure = options.tls !== undefined, limits = { ...DEFAULT_LIMITS, ...options.limits };
  const server = listenByDeno(options, (request, { remoteAddr, completed }) => {
    const isHttp2 = secure && (request.headers.has("host") ? null : true);
    const { upgradeWebSocket } = Deno;
    const exchange = new DenoExchange(request, remoteAddr.hostname, { secure, isHttp2, limits, upgradeWebSocket });
    return answerRequest(exchange, completed, handler, options);
  });
  return Promise.resolve({ ...server, connections: -1 });
}

const RELISTEN_MS = 250;

type Handle = (request: Request, info: Deno.ServeHandlerInfo<Deno.NetAddr>) => Response | Promise<Response>;

/** Runs `Deno.serve` on one address and keeps it listening. Errors from `handle` are logged and return 500. */
function listenByDeno(options: ListenOptions, handle: Handle): Omit<Listener, "connections"> {
  const { log } = options;
  let server = serveOnce(options, handle);
  const { hostname, port } = server.address;
  const closing = new AbortController();
  void keepListening();

  /** Deno stops listening for good after a failed accept, for example without free descriptors. */
  async function keepListening(): Promise<void> {
    for (;;) {
      const failure = await server.failed;
      if (closing.signal.aborted) return;
      log.error("accept_failed", { reason: describeError(failure) });
      for (let next = null; next === null;) {
        await delay(RELISTEN_MS, closing.signal);
        if (closing.signal.aborted) return;
        next = tryTo(() => serveOnce({ ...options, port }, handle));
        server = next ?? server;
      }
      log.info("listening_again");
    }
  }

  return {
    hostname,
    port,
    close() {
      closing.abort();
      return server.close();
    },
    abort() {
      closing.abort();
      server.abort();
    },
  };
}

/** Returns the result, or null if the system refuses it now. */
function tryTo<T>(run: () => T): T | null {
  try {
    return run();
  } catch {
    return null;
  }
}

/** `failed` resolves with the reason for an unexpected end. */
function serveOnce({ hostname, port, tls, log }: ListenOptions, handle: Handle) {
  const abort = new AbortController();
  const server = Deno.serve({
    hostname,
    port,
    signal: abort.signal,
    onListen() {},
    onError: (error) => failedExchange(error, log),
    ...tls,
  }, handle);
  // Deno throws outside of any call when a server is aborted after its end.
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

/**
 * Returns the handler's response in either form; errors are logged and return 500. `completed` settles after the
 * response.
 */
async function answerRequest(
  exchange: DenoExchange,
  completed: Promise<void>,
  handler: ExchangeHandler,
  { log, traffic }: Pick<ListenOptions, "log" | "traffic">,
): Promise<Response> {
  const response = await findResponse(exchange, handler, log);
  // Over HTTP/2 Deno would send a body with HEAD, and over HTTP/1.1 it sends 205 without a length.
  const isOdd = exchange.method === "HEAD" || response?.status === 205;
  if (response !== null && isOdd) await sendResponse(exchange, response);
  const answer = response === null || isOdd ? await exchange.response.response : response;
  if (exchange.secure) exchange.keepBody(completed);
  traffic?.countResponse(answer.status);
  return answer;
}

async function findResponse(exchange: DenoExchange, handler: ExchangeHandler, log: Logger): Promise<Response | null> {
  if (exchange.fault !== null) return errorResponse(exchange.fault, exchange.accept);
  try {
    if (exchange.mayBeEmpty) await exchange.findBody();
    return await handler(exchange);
  } catch (error) {
    return failedExchange(error, log);
  }
}

/** Converts a handler's error into a response. */
function failedExchange(error: unknown, log: Logger): Response {
  if (!(error instanceof BodyCut)) {
    log.error("exchange_failed", { reason: describeError(error), stack: stackOf(error) });
  }
  return errorResponse(new HttpError(500, "internal_error", "The server failed to respond to this request."), null);
}
