import { delay } from "../delay.ts";
import { describeError, type Logger, stackOf } from "../log.ts";
import { errorResponse, HttpError } from "../http_error.ts";
import { badRequest, findHeadFault, isWebSocketHandshake } from "./_head_check.ts";
import { RefusedPeers } from "./_refused_peers.ts";
import { clipReason, DEFAULT_MESSAGE_BYTES, sendableCode } from "./_socket_rules.ts";
import { BodyCut } from "./types.ts";
import type { Exchange, ExchangeHandler, Listener, ListenOptions, ServerSocket, UpgradeOptions } from "./types.ts";

/** Listens with `Deno.serve`. It has no timeouts: face the Internet with it only behind a proxy that has. */
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
  const refused = new RefusedPeers();
  const server = Deno.serve({
    hostname,
    port,
    signal: abort.signal,
    onListen() {},
    onError: (error) => failedExchange(error, log),
    ...tls,
  }, (request, info) => {
    const exchange = new DenoExchange(request, info, tls !== undefined);
    const fault = refused.any && refused.has(info.remoteAddr, Date.now()) ? AFTER_REFUSED : exchange.fault;
    if (fault !== null) {
      // HTTP/2 has frames around each request: nothing can follow a head there that is not its own.
      if (fault !== AFTER_REFUSED && !exchange.isHttp2) refused.add(info.remoteAddr, Date.now());
      return errorResponse(fault, request.headers.get("accept"));
    }
    return exchange.mayBeEmpty ? exchange.findBody().then(() => handler(exchange)) : handler(exchange);
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

function failedExchange(error: unknown, log: Logger): Response {
  if (!(error instanceof BodyCut)) {
    log.error("exchange_failed", { reason: describeError(error), stack: stackOf(error) });
  }
  return errorResponse(new HttpError(500, "internal_error", "The server failed to answer this request."), null);
}

class DenoExchange implements Exchange {
  readonly method: string;
  readonly target: string;
  readonly host: string;
  readonly secure: boolean;
  readonly request: Request;
  readonly headers: readonly string[];
  /** Deno holds on to the memory by itself, whatever becomes of the chunk. */
  readonly takesChunks = true;
  readonly ends205 = false;
  /** Deno shows the host of HTTP/2, its `:authority`, in the URL alone. */
  readonly isHttp2: boolean;
  /** What makes this request unfit to be answered by anyone. */
  readonly fault: HttpError | null;
  hasBody: boolean;
  /** HTTP/2 announces no body, and Deno does not tell whether one follows. */
  readonly mayBeEmpty: boolean;
  readonly #info: Deno.ServeHandlerInfo<Deno.NetAddr>;
  #foundBody: ReadableStream<Uint8Array<ArrayBuffer>> | null = null;
  #mayUpgrade = false;

  constructor(request: Request, info: Deno.ServeHandlerInfo<Deno.NetAddr>, secure: boolean) {
    this.request = request;
    this.#info = info;
    this.secure = secure;
    this.method = request.method;
    this.headers = listHeaders(request.headers);
    let host: string | null = null, length: string | null = null, coding: string | null = null;
    for (let i = 0; i < this.headers.length; i += 2) {
      const name = this.headers[i];
      if (name === "host") host = this.headers[i + 1];
      else if (name === "content-length") length = this.headers[i + 1];
      else if (name === "transfer-encoding") coding = this.headers[i + 1];
      else if (name === "upgrade") this.#mayUpgrade = true;
    }
    this.isHttp2 = secure && host === null;
    const url = request.url;
    const start = secure ? "https://".length : "http://".length;
    this.host = host ?? (secure ? url.slice(start, url.indexOf("/", start)) : "");
    const targetStart = host === null ? url.indexOf("/", start) : start + host.length;
    // An absolute-form target names a host of its own, and CONNECT has no path: neither is ours to route by.
    const isOriginForm = url.charCodeAt(targetStart) === SLASH && (host === null || url.startsWith(host, start));
    this.target = isOriginForm ? url.slice(targetStart) : "/";
    const isAnnounced = length !== null ? length !== "0" : coding !== null;
    const canHaveBody = this.method !== "GET" && this.method !== "HEAD";
    // HTTP/2 needs no length to have a body.
    const mayHaveBody = canHaveBody && this.isHttp2 && length === null;
    this.hasBody = (canHaveBody && isAnnounced) || mayHaveBody;
    this.mayBeEmpty = mayHaveBody && !STREAMED.has(this.method);
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
    return this.hasBody ? this.#foundBody ?? this.request.body : null;
  }

  /**
   * Waits for the first piece of a body that may be none: to a service a chunked one without a piece is an oddity.
   * @throws BodyCut when the visitor leaves before it
   */
  async findBody(): Promise<void> {
    const reader = this.request.body?.getReader();
    const first = reader === undefined ? null : await readPiece(reader).catch((cause) => {
      throw new BodyCut("the visitor left", { cause });
    });
    this.hasBody = first !== null;
    if (reader !== undefined && first !== null) this.#foundBody = startWith(first, reader);
  }

  get signal(): AbortSignal {
    return this.request.signal;
  }

  header(name: string): string | null {
    // Deno has joined duplicates already.
    for (let i = 0; i < this.headers.length; i += 2) if (this.headers[i] === name) return this.headers[i + 1];
    return null;
  }

  get isWebSocket(): boolean {
    return this.#mayUpgrade && isWebSocketHandshake(this.method, (name) => this.header(name));
  }

  upgrade(options: UpgradeOptions): Response {
    // Its default would ping those who have a heartbeat of their own.
    const idleTimeout = options.heartbeatSeconds ?? 0;
    const { socket, response } = Deno.upgradeWebSocket(this.request, { idleTimeout });
    // Its own option splits the visitor's offer at ", " only and so refuses "a,b".
    if (options.protocol !== undefined) response.headers.set("sec-websocket-protocol", options.protocol);
    socket.binaryType = "arraybuffer";
    const limit = options.maxMessageBytes ?? DEFAULT_MESSAGE_BYTES;
    socket.onopen = () => options.onOpen?.(createServerSocket(socket));
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (isLongerThan(data, limit)) socket.close(1009, "message too big");
      else options.onMessage(typeof data === "string" ? data : new Uint8Array(data));
    };
    let isClosed = false;
    socket.onclose = ({ code, reason }) => {
      // Where pings stay unanswered Deno tells of two closes.
      if (isClosed) return;
      isClosed = true;
      // Deno says 0 where a connection broke.
      options.onClose(code || 1006, reason);
    };
    // An error is always followed by a close event, and that one carries the code.
    socket.onerror = (event) => event.preventDefault();
    return response;
  }
}

const SLASH = 0x2f;

/** Methods whose bodies may be streams that wait for the answer to begin. */
const STREAMED: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

type Bytes = Uint8Array<ArrayBuffer>;

/** The next piece that holds something, or null: Deno gives an empty one where HTTP/2 says that there is no body. */
async function readPiece(reader: ReadableStreamDefaultReader<Bytes>): Promise<Bytes | null> {
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return null;
    if (value.length > 0) return value;
  }
}

function startWith(first: Bytes, reader: ReadableStreamDefaultReader<Bytes>): ReadableStream<Bytes> {
  return new ReadableStream({
    start: (controller) => controller.enqueue(first),
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

const AFTER_REFUSED = badRequest("A request before this one on the same connection was refused.");

/** Every field in one pass: a look at a single one costs as much as all of them, and an iterator twice that. */
function listHeaders(headers: Headers): string[] {
  const list: string[] = [];
  headers.forEach((value, name) => void list.push(name, value));
  return list;
}

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
      if (socket.readyState !== WebSocket.OPEN) return;
      const sent = sendableCode(code);
      // With a reason, even an empty one, Deno sends a code of its own.
      if (sent === undefined) socket.close();
      else socket.close(sent, clipReason(reason));
    },
    get bufferedAmount() {
      return socket.bufferedAmount;
    },
  };
}
