import { HttpError } from "../../../common/http_error.ts";
import { createDialer } from "../../guard/mod.ts";
import { NoAnswer } from "./answer_head.ts";
import { ConnectionPool, DEFAULT_LIMITS } from "./connection_pool.ts";
import { toUpstreamError } from "./errors.ts";
import { exchange } from "./exchange.ts";
import { chooseFraming } from "./request_head.ts";
import type { TargetConnection } from "./target_connection.ts";
import type { Upstream, UpstreamAnswer, UpstreamOptions, UpstreamRequest } from "./types.ts";

/** A connection for one request, and how long it took to open. */
interface Opened {
  connection: TargetConnection;
  /** It has carried requests before. */
  isKept: boolean;
  dnsMs: number;
  connectMs: number;
}

/** Creates the sender with its pool of connections; whoever creates it closes it. */
export function createUpstream({ guard, connectTimeoutMs, caCerts, driver, limits }: UpstreamOptions): Upstream {
  const dial = createDialer({ guard, timeoutMs: connectTimeoutMs, caCerts, driver });
  const pool = new ConnectionPool({ ...DEFAULT_LIMITS, ...limits });

  async function send(request: UpstreamRequest): Promise<UpstreamAnswer> {
    const { ending } = request;
    try {
      const kept = pool.take(poolKey(request));
      const first = kept ? asKept(kept) : await open(request);
      try {
        return await sendOn(first, request);
      } catch (error) {
        // A kept connection may die just as it is used again: what can safely be repeated gets a second try.
        if (!first.isKept || !(error instanceof NoAnswer) || !isRepeatable(request)) throw error;
      }
      return await sendOn(await open(request), request);
    } catch (error) {
      ending.onEnd(null);
      throw error instanceof HttpError ? error : ending.reason ?? toUpstreamError(error);
    }
  }

  async function open(request: UpstreamRequest): Promise<Opened> {
    const { url, ending } = request;
    if (ending.reason) throw ending.reason;
    const key = poolKey(request);
    const kept = await pool.reserve(key, ending);
    if (kept) return asKept(kept);
    try {
      const abort = new AbortController();
      ending.onEnd((reason) => abort.abort(reason));
      const { connection, dnsMs, connectMs } = await dial(url, {
        signal: abort.signal,
        carriesUpload: carriesUpload(request),
      });
      return { connection: pool.adopt(key, connection), isKept: false, dnsMs, connectMs };
    } catch (error) {
      pool.giveUp(key);
      throw error;
    }
  }

  async function sendOn({ connection, dnsMs, connectMs }: Opened, request: UpstreamRequest): Promise<UpstreamAnswer> {
    const answer = await exchange(connection, request, (used) => pool.release(used));
    return { ...answer, dnsMs, connectMs };
  }

  return { send, close: () => pool.close() };
}

function asKept(connection: TargetConnection): Opened {
  return { connection, isKept: true, dnsMs: 0, connectMs: 0 };
}

/** Plain connections for uploads are of another kind, slower for everything else: they are kept for each other. */
function poolKey(request: UpstreamRequest): string {
  return request.url.protocol === "http:" && carriesUpload(request)
    ? `${request.url.origin} upload`
    : request.url.origin;
}

function carriesUpload(request: UpstreamRequest): boolean {
  return chooseFraming(request) === "chunked";
}

function isRepeatable({ method, body, ending }: UpstreamRequest): boolean {
  return body === null && (method === "GET" || method === "HEAD") && ending.reason === null;
}
