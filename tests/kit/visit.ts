import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { once } from "node:events";
import { Readable } from "node:stream";
import { WebSocket } from "ws";
import { within } from "./within.ts";

export interface VisitInit {
  method?: string;
  headers?: Record<string, string | string[]>;
  body?: string | Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
  signal?: AbortSignal;
  /** PEM of the authority to trust, for https. */
  ca?: string;
}

/** An answer; its body can be read once. */
export interface Visited {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, as they came. */
  readonly rawHeaders: string[];
  readonly body: AsyncIterable<Uint8Array>;
  bytes(): Promise<Uint8Array>;
  text(): Promise<string>;
  json(): Promise<unknown>;
  /** Leaves without reading the rest. */
  leave(): void;
}

/**
 * Requests a URL of a host that is this machine, whatever its name: `fetch` cannot resolve names below `localhost`.
 * One connection a request. Resolves with the head; redirects are not followed.
 */
export async function visit(url: string, init: VisitInit = {}): Promise<Visited> {
  const { method = init.body === undefined ? "GET" : "POST", headers = {}, body, signal, ca } = init;
  const { host, hostname, protocol, port } = new URL(url);
  const send = protocol === "https:" ? requestHttps : requestHttp;
  const request = send({
    host: "127.0.0.1",
    servername: hostname,
    port: port || (protocol === "https:" ? 443 : 80),
    path: url.slice(url.indexOf(host) + host.length) || "/",
    method,
    headers: { host, ...headers },
    agent: false,
    signal,
    ca,
  });
  const answered = once(request, "response", { signal }) as Promise<[IncomingMessage]>;
  // Told through `answered` when it comes before the answer; afterwards the body's reader sees it.
  request.on("error", () => {});
  sendBody(request, body);
  const [response] = await within(`an answer of ${method} ${url}`, answered);
  return wrap(response, () => request.destroy());
}

function sendBody(request: NodeJS.WritableStream, body: VisitInit["body"]): void {
  if (body === undefined) return void request.end();
  if (typeof body === "string" || body instanceof Uint8Array) return void request.end(body);
  // A server that answers early and closes breaks the pipe, which is no fault of the test.
  Readable.from(body, { objectMode: false }).pipe(request);
}

function wrap(response: IncomingMessage, leave: () => void): Visited {
  const bytes = async () => {
    const pieces: Uint8Array[] = [];
    for await (const piece of response) pieces.push(piece);
    return new Uint8Array(Buffer.concat(pieces));
  };
  const text = async () => new TextDecoder().decode(await within("the rest of an answer", bytes()));
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    rawHeaders: response.rawHeaders,
    body: response,
    bytes,
    text,
    json: async () => JSON.parse(await text()),
    leave,
  };
}

/** A visitor's WebSocket. Messages, and its end, are taken one by one in the order they came. */
export interface VisitorSocket extends AsyncDisposable {
  readonly protocol: string;
  send(data: string | Uint8Array): void;
  /** The next message: text as a string, binary as bytes. */
  next(): Promise<string | Uint8Array>;
  close(code?: number, reason?: string): void;
  /** How it ended. */
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly socket: WebSocket;
}

export interface SocketInit {
  protocols?: string[];
  headers?: Record<string, string>;
}

/** Opens a WebSocket to a host that is this machine. Rejects when the handshake is refused. */
export async function openSocket(url: string, { protocols = [], headers = {} }: SocketInit = {}): Promise<
  VisitorSocket
> {
  const { host, port, protocol } = new URL(url);
  const scheme = /^(https|wss):$/.test(protocol) ? "wss" : "ws";
  const path = url.slice(url.indexOf(host) + host.length);
  const socket = new WebSocket(`${scheme}://127.0.0.1:${port}${path}`, protocols, {
    headers: { host, ...headers },
    perMessageDeflate: false,
    maxPayload: 64 * 1024 * 1024,
  });
  const queue: (string | Uint8Array)[] = [];
  let wake: (() => void) | null = null;
  const end = Promise.withResolvers<{ code: number; reason: string }>();
  let ended = false;
  socket.on("message", (data, isBinary) => {
    const bytes = new Uint8Array(data as Buffer);
    queue.push(isBinary ? bytes : new TextDecoder().decode(bytes));
    wake?.();
  });
  socket.on("close", (code, reason) => {
    ended = true;
    end.resolve({ code, reason: reason.toString() });
    wake?.();
  });
  await within(`the WebSocket ${url}`, once(socket, "open"));
  // What breaks later shows in its close code.
  socket.on("error", () => {});

  async function next(): Promise<string | Uint8Array> {
    for (;;) {
      const message = queue.shift();
      if (message !== undefined) return message;
      if (ended) throw new Error(`the WebSocket ended: ${JSON.stringify(await end.promise)}`);
      await new Promise<void>((resolve) => wake = resolve);
    }
  }

  return {
    protocol: socket.protocol,
    send: (data) => socket.send(data),
    next: () => within("a message", next()),
    close: (code, reason) => socket.close(code, reason),
    closed: end.promise,
    socket,
    async [Symbol.asyncDispose]() {
      socket.terminate();
      await end.promise;
    },
  };
}
