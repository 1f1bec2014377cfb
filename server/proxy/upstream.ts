import { Agent, type Dispatcher } from "undici";
import type { Buffer } from "node:buffer";
import { type ConnectTimes, createGuardedConnector, type Guard } from "../guard/mod.ts";
import { BodyQueue } from "./body_queue.ts";
import { toUpstreamError } from "./upstream_error.ts";

/** One request to one target; redirects are answers here. */
export interface UpstreamRequest {
  method: string;
  url: URL;
  headers: readonly (readonly [string, string])[];
  /** A sequence is sent as it is produced: chunked, unless the headers give its Content-Length. */
  body: Uint8Array | AsyncIterable<Uint8Array> | null;
  ending: Ending;
}

/** Who may end a request, and the body of its answer, early. */
export interface Ending {
  /** Why the request has to end; null while it may go on. */
  readonly reason: Error | null;
  /** Takes the one to call when it has to end. */
  onEnd(end: ((reason: Error) => void) | null): void;
}

export interface UpstreamAnswer {
  status: number;
  statusText: string;
  /** As sent: order, case and duplicates kept. Bytes beyond ASCII are Latin-1. */
  headers: [string, string][];
  body: BodyQueue;
  /** False where a Content-Length speaks of a body that is not sent: HEAD and 304. */
  hasBody: boolean;
  /** 0 for both when an open connection was used again. */
  dnsMs: number;
  connectMs: number;
}

/** Sends requests to targets over connections that the guard has checked. */
export interface Upstream {
  /** Resolves with the head of the answer. Rejects with `HttpError`, or with the reason it had to end for. */
  send(request: UpstreamRequest): Promise<UpstreamAnswer>;
  /** Drops all connections. */
  close(): Promise<void>;
}

export interface UpstreamOptions {
  guard: Guard;
  connectTimeoutMs: number;
  caCerts?: readonly string[];
}

const CONNECTIONS_PER_TARGET = 256;
const MAX_TARGETS = 4096;
const KEEP_ALIVE_MS = 10_000;
const MAX_HEAD_BYTES = 64 * 1024;

/** Creates the sender with its pool of connections; whoever creates it closes it. */
export function createUpstream(options: UpstreamOptions): Upstream {
  const connects = new Map<string, ConnectTimes>();
  const agent = new Agent({
    connect: createGuardedConnector({
      guard: options.guard,
      timeoutMs: options.connectTimeoutMs,
      caCerts: options.caCerts,
      onConnect: (origin, times) => rememberConnect(connects, origin, times),
    }),
    connections: CONNECTIONS_PER_TARGET,
    maxOrigins: MAX_TARGETS,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEAD_BYTES,
    // The caller's own limits end a request; these would only get in their way.
    headersTimeout: 0,
    bodyTimeout: 0,
  });

  async function send(request: UpstreamRequest): Promise<UpstreamAnswer> {
    try {
      return await dispatch(agent, request, connects);
    } catch (error) {
      if (!mayRetry(request, error)) throw error;
      return await dispatch(agent, request, connects);
    }
  }

  return { send, close: () => agent.destroy() };
}

/** A kept connection may die just as it is used again: what can safely be repeated gets a second try. */
function mayRetry({ method, body, ending }: UpstreamRequest, error: unknown): boolean {
  return body === null && (method === "GET" || method === "HEAD") && ending.reason === null &&
    toUpstreamError(error).code === "upstream_reset";
}

function rememberConnect(connects: Map<string, ConnectTimes>, origin: string, times: ConnectTimes): void {
  connects.delete(origin);
  connects.set(origin, times);
  const oldest = connects.keys().next().value;
  if (connects.size > MAX_TARGETS && oldest !== undefined) connects.delete(oldest);
}

function dispatch(
  agent: Agent,
  request: UpstreamRequest,
  connects: ReadonlyMap<string, ConnectTimes>,
): Promise<UpstreamAnswer> {
  const { url, ending } = request;
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    let body: BodyQueue | null = null;
    agent.dispatch({
      origin: url.origin,
      path: url.pathname + url.search,
      method: request.method as Dispatcher.HttpMethod, // undici takes any token, its type only the usual ones
      headers: request.headers.flat(),
      // undici takes any sequence of bytes and asks for more when the socket has drained; its type knows streams only.
      body: request.body as Dispatcher.DispatchOptions["body"],
    }, {
      onRequestStart(controller) {
        if (ending.reason) controller.abort(ending.reason);
        else ending.onEnd((reason) => controller.abort(reason));
      },
      onResponseStart(controller, status, _parsed, statusText) {
        if (status < 200) return;
        body = new BodyQueue(controller);
        const times = connects.get(url.origin);
        const opened = times !== undefined && times.startedAt >= startedAt;
        resolve({
          status,
          statusText: statusText ?? "",
          headers: readRawHeaders(controller.rawHeaders),
          body,
          hasBody: request.method !== "HEAD" && status !== 304,
          dnsMs: opened ? times.dnsMs : 0,
          connectMs: opened ? times.connectMs : 0,
        });
      },
      onResponseData: (_controller, chunk) => body?.push(chunk),
      onResponseEnd() {
        ending.onEnd(null);
        body?.end();
      },
      onResponseError(_controller, error) {
        ending.onEnd(null);
        const reason = ending.reason ?? toUpstreamError(error);
        if (body) body.fail(reason);
        else reject(reason);
      },
    });
  });
}

function readRawHeaders(raw: Dispatcher.DispatchController["rawHeaders"]): [string, string][] {
  if (!Array.isArray(raw)) return [];
  const headers: [string, string][] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) headers.push([readText(raw[i]), readText(raw[i + 1])]);
  return headers;
}

/** Latin-1 by hand: for the few bytes of a header the runtime's decoder costs more to call than it saves. */
function readText(value: Buffer | string): string {
  if (typeof value === "string") return value;
  if (value.byteLength > 512) return value.toString("latin1");
  return String.fromCharCode.apply(null, value as unknown as number[]);
}
