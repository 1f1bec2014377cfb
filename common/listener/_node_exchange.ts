import type { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { HttpError } from "../http_error.ts";
import { badRequest, findHeadFault, isWebSocketHandshake, parseTarget } from "./_head_check.ts";
import type { Exchange, UpgradeOptions } from "./types.ts";

/** What the driver knows of a request beside its head. */
export interface NodeExchangeOptions {
  secure: boolean;
  /** Sends `100 Continue`; given when the visitor waits for it. */
  sendContinue?: () => void;
}

/** An exchange over a request of node:http or of the compatibility layer of node:http2. */
export class NodeExchange implements Exchange {
  readonly method: string;
  readonly target: string;
  readonly host: string;
  readonly remoteAddress: string;
  readonly secure: boolean;
  readonly hasBody: boolean;
  /** What makes this request unfit to be answered by anyone. */
  readonly fault: HttpError | null;
  readonly headers: readonly string[];
  /** Set once the handler has accepted the WebSocket: the response it must give back, and its options. */
  accepted: { response: Response; options: UpgradeOptions } | null = null;
  readonly #message: IncomingMessage;
  readonly #abort = new AbortController();
  #sendContinue: (() => void) | undefined;
  #body: ReadableStream<Uint8Array<ArrayBuffer>> | null = null;
  #request: Request | null = null;

  constructor(message: IncomingMessage, options: NodeExchangeOptions) {
    this.#message = message;
    this.#sendContinue = options.sendContinue;
    this.method = message.method ?? "GET";
    this.secure = options.secure;
    this.remoteAddress = message.socket.remoteAddress ?? "";
    this.headers = listHeaders(message.rawHeaders);
    const isHttp2 = message.httpVersionMajor >= 2;
    this.host = (isHttp2 ? readAuthority(message) : null) ?? this.header("host") ?? "";
    const target = parseTarget(message.url ?? "", this.host);
    this.target = target ?? "/";
    this.hasBody = isHttp2
      ? !endedAfterHeaders(message)
      : (this.header("content-length") ?? "0") !== "0" || this.header("transfer-encoding") !== null;
    this.fault = (isHttp2 ? null : findHeadFault((name) => this.#values(name), message.httpVersion)) ??
      (target === null ? badRequest("The request target must be a path, and its host the Host header.") : null);
  }

  #values(name: string): string[] {
    return this.headers.filter((_, i) => i % 2 === 1 && this.headers[i - 1] === name);
  }

  header(name: string): string | null {
    const values = this.#values(name);
    return values.length === 0 ? null : values.join(", ");
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The visitor has gone, before the answer was complete. */
  leave(): void {
    this.#abort.abort(new DOMException("The visitor has gone.", "AbortError"));
  }

  /** Whether the visitor still waits for `100 Continue`. */
  get awaitsContinue(): boolean {
    return this.#sendContinue !== undefined;
  }

  get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    if (!this.hasBody) return null;
    return this.#body ??= streamBody(this.#message, () => {
      this.#sendContinue?.();
      this.#sendContinue = undefined;
    });
  }

  /** Node writes from the memory itself. */
  readonly takesChunks = false;
  readonly ends205 = true;

  get request(): Request {
    return this.#request ??= this.#createRequest();
  }

  #createRequest(): Request {
    try {
      // `duplex` is needed for a streamed body and missing from the type.
      const init: RequestInit & { duplex: "half" } = {
        method: this.method,
        headers: pairHeaders(this.headers),
        body: this.body,
        duplex: "half",
        signal: this.signal,
      };
      return new Request(`${this.secure ? "https" : "http"}://${this.host || "localhost"}${this.target}`, init);
    } catch (cause) {
      throw Object.assign(badRequest("This request has a method, a host or a body that cannot be used here."), {
        cause,
      });
    }
  }

  get isWebSocket(): boolean {
    return isWebSocketHandshake(this.method, (name) => this.header(name));
  }

  upgrade(options: UpgradeOptions): Response {
    const response = new Response(null);
    this.accepted = { response, options };
    return response;
  }
}

/** Names in lower case, in the order they came; pseudo-headers of HTTP/2 left out. */
function listHeaders(raw: readonly string[]): string[] {
  const list: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (!raw[i].startsWith(":")) list.push(raw[i].toLowerCase(), raw[i + 1]);
  }
  return list;
}

function pairHeaders(list: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let i = 0; i < list.length; i += 2) pairs.push([list[i], list[i + 1]]);
  return pairs;
}

function readAuthority(message: IncomingMessage): string | null {
  const authority = message.headers[":authority"];
  return typeof authority === "string" ? authority : null;
}

/** node:http2 says on its stream whether the head was all there is. */
function endedAfterHeaders(message: IncomingMessage): boolean {
  const { stream } = message as IncomingMessage & { stream?: { endAfterHeaders?: boolean } };
  return stream?.endAfterHeaders === true;
}

/** The body, read from the socket only as fast as it is asked for. */
function streamBody(message: IncomingMessage, onFirstRead: () => void): ReadableStream<Uint8Array<ArrayBuffer>> {
  let settle: ((error: Error | null) => void) | null = null;
  let ended = message.readableEnded;
  let failure: Error | null = null;
  const wake = () => settle?.(null);
  const fail = (error: Error) => {
    failure ??= error;
    settle?.(error);
  };
  message.on("readable", wake);
  message.on("end", () => {
    ended = true;
    wake();
  });
  message.on("error", fail);
  message.on("close", () => ended || fail(new Error("The visitor left before the body was complete.")));
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      onFirstRead();
      for (;;) {
        const chunk: Buffer<ArrayBuffer> | null = message.read();
        if (chunk !== null) return controller.enqueue(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length));
        if (ended) return controller.close();
        if (failure !== null) throw failure;
        await new Promise<void>((resolve, reject) => settle = (error) => error === null ? resolve() : reject(error));
        settle = null;
      }
    },
    cancel() {
      // Without this "readable" keeps the flow stopped, and the connection could not be used again.
      message.removeListener("readable", wake);
      message.resume();
    },
  }, { highWaterMark: 0 });
}
