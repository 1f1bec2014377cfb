import { describeError, type Logger, stackOf } from "../log.ts";
import { errorResponse, HttpError } from "../http_error.ts";
import { badRequest, findHeadFault, isWebSocketHandshake } from "./_head_check.ts";
import { clipReason, DEFAULT_MESSAGE_BYTES, sendableCode } from "./_socket_rules.ts";
import type { Exchange, ExchangeHandler, Listener, ListenOptions, ServerSocket, UpgradeOptions } from "./types.ts";

/** Listens with `Deno.serve`. It has no timeouts: face the Internet with it only behind a proxy that has. */
export function listenDeno(options: ListenOptions, handler: ExchangeHandler): Promise<Listener> {
  const { log, tls } = options;
  const abort = new AbortController();
  const server = Deno.serve({
    hostname: options.hostname,
    port: options.port,
    signal: abort.signal,
    onListen() {},
    onError: (error) => failedExchange(error, log),
    ...tls,
  }, (request, info) => {
    const exchange = new DenoExchange(request, info, tls !== undefined);
    const fault = exchange.fault;
    return fault === null ? handler(exchange) : errorResponse(fault, request.headers.get("accept"));
  });
  // Deno throws, outside of any call, at an abort of a server that has ended already or is told to.
  let isOver = false;
  server.finished.then(() => isOver = true);
  return Promise.resolve({
    hostname: server.addr.hostname,
    port: server.addr.port,
    close: () => {
      isOver = true;
      return server.shutdown();
    },
    abort: () => isOver ? undefined : abort.abort(),
  });
}

function failedExchange(error: unknown, log: Logger): Response {
  log.error("exchange_failed", {
    reason: describeError(error),
    stack: stackOf(error),
  });
  return errorResponse(new HttpError(500, "internal_error", "The server failed to answer this request."), null);
}

class DenoExchange implements Exchange {
  readonly method: string;
  readonly target: string;
  readonly host: string;
  readonly secure: boolean;
  readonly request: Request;
  readonly headers: readonly (readonly [string, string])[];
  /** Deno holds on to the memory by itself, whatever becomes of the chunk. */
  readonly takesChunks = true;
  /** What makes this request unfit to be answered by anyone. */
  readonly fault: HttpError | null;
  readonly hasBody: boolean;
  readonly #info: Deno.ServeHandlerInfo<Deno.NetAddr>;
  readonly #mayUpgrade: boolean;

  constructor(request: Request, info: Deno.ServeHandlerInfo<Deno.NetAddr>, secure: boolean) {
    this.request = request;
    this.#info = info;
    this.secure = secure;
    this.method = request.method;
    // One pass over the headers: every look at a single one of them costs as much as all of them here.
    const fields: [string, string][] = [];
    let host: string | null = null, length: string | null = null, coding: string | null = null, upgrade = false;
    for (const field of request.headers) {
      fields.push(field);
      const [name, value] = field;
      if (name === "host") host = value;
      else if (name === "content-length") length = value;
      else if (name === "transfer-encoding") coding = value;
      else if (name === "upgrade") upgrade = true;
    }
    this.headers = fields;
    this.#mayUpgrade = upgrade;
    const url = request.url;
    const start = secure ? "https://".length : "http://".length;
    // HTTP/2 carries the authority outside the headers, and Deno shows it in the URL alone.
    this.host = host ?? (secure ? url.slice(start, url.indexOf("/", start)) : "");
    const targetStart = host === null ? url.indexOf("/", start) : start + host.length;
    // An absolute-form target names a host of its own, and CONNECT has no path: neither is ours to route by.
    const isOriginForm = url.charCodeAt(targetStart) === SLASH && (host === null || url.startsWith(host, start));
    this.target = isOriginForm ? url.slice(targetStart) : "/";
    const isAnnounced = length !== null ? length !== "0" : coding !== null;
    const canHaveBody = this.method !== "GET" && this.method !== "HEAD";
    // HTTP/2 needs no length to have a body.
    this.hasBody = canHaveBody && (isAnnounced || (secure && host === null && length === null));
    this.fault = findFault(host, length, coding) ??
      (!isOriginForm
        ? badRequest("The request target must be a path, and its host the Host header.")
        : isAnnounced && !canHaveBody
        ? badRequest(`A body with ${this.method} cannot be carried by this listener.`)
        : null);
  }

  get remoteAddress(): string {
    return this.#info.remoteAddr.hostname;
  }

  get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    return this.hasBody ? this.request.body : null;
  }

  get signal(): AbortSignal {
    return this.request.signal;
  }

  header(name: string): string | null {
    // Deno has joined duplicates already.
    for (const field of this.headers) if (field[0] === name) return field[1];
    return null;
  }

  get isWebSocket(): boolean {
    return this.#mayUpgrade && isWebSocketHandshake(this.method, (name) => this.header(name));
  }

  upgrade(options: UpgradeOptions): Response {
    // idleTimeout 0: Deno's own ping would close a quiet socket; who needs a heartbeat sends one that means something.
    const { socket, response } = Deno.upgradeWebSocket(this.request, { idleTimeout: 0 });
    // Its own option splits the visitor's offer at ", " only and so refuses "a,b".
    if (options.protocol !== undefined) response.headers.set("sec-websocket-protocol", options.protocol);
    socket.binaryType = "arraybuffer";
    const limit = options.maxMessageBytes ?? DEFAULT_MESSAGE_BYTES;
    socket.onopen = () => options.onOpen?.(createServerSocket(socket));
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (isLongerThan(data, limit)) socket.close(1009, "message too big");
      else options.onMessage(typeof data === "string" ? data : new Uint8Array(data));
    };
    // Deno says 0 where a connection broke.
    socket.onclose = ({ code, reason }) => options.onClose(code || 1006, reason);
    // An error is always followed by a close event, and that one carries the code.
    socket.onerror = (event) => event.preventDefault();
    return response;
  }
}

const SLASH = 0x2f;

/** The host of the last request that was fine: most requests in a row name the same one. */
let knownHost = "";

/** Deno joins what was sent twice with ", ", and that is no host and no length. It does not tell the HTTP version. */
function findFault(host: string | null, length: string | null, coding: string | null): HttpError | null {
  if (host === knownHost && length === null && coding === null) return null;
  const values: Record<string, string | null> = { host, "content-length": length, "transfer-encoding": coding };
  const fault = findHeadFault((name) => values[name] === null ? [] : [values[name]], host === null ? "1.0" : "1.1");
  if (fault === null && host !== null) knownHost = host;
  return fault;
}

/** Text is counted in UTF-8, and only measured where its length leaves that open. */
function isLongerThan(data: string | ArrayBuffer, limit: number): boolean {
  if (typeof data !== "string") return data.byteLength > limit;
  return data.length > limit || (data.length * 3 > limit && new TextEncoder().encode(data).length > limit);
}

function createServerSocket(socket: WebSocket): ServerSocket {
  return {
    send(data) {
      if (socket.readyState === WebSocket.OPEN) socket.send(data);
    },
    close(code, reason) {
      if (socket.readyState === WebSocket.OPEN) socket.close(sendableCode(code), clipReason(reason));
    },
    get bufferedAmount() {
      return socket.bufferedAmount;
    },
  };
}
