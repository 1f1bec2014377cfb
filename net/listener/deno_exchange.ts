import { decodeLatin1, encodeLatin1, RequestHead, RequestSyntaxError } from "../http1/mod.ts";
import type { HttpError } from "../../common/http_error.ts";
import { badRequest, HEAD_TOO_LARGE, headFault, isWebSocketHandshake, listHeaders, streamBody } from "./_exchange.ts";
import { DenoResponseWriter, type UpgradeWebSocket } from "./deno_response.ts";
import type { ListenerLimits } from "./limits.ts";
import { BodyCut, type Exchange } from "./types.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** The origin of a request. */
export interface DenoExchangeOptions {
  secure: boolean;
  /** Null where Deno does not report it: for TLS with a Host field, which HTTP/2 may have as well. */
  isHttp2: boolean | null;
  limits: Pick<ListenerLimits, "maxHeadBytes" | "maxFields">;
  /** `Deno.upgradeWebSocket`. */
  upgradeWebSocket: UpgradeWebSocket;
}

/** Methods whose bodies may be streams that wait for the response. */
const STREAMED: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);
/** Limits for the rest of an upload after its response, in bytes and milliseconds. */
const LINGER_BYTES = 16 * 1024 * 1024;
const LINGER_MS = 2000;

/** A `Deno.serve` request in the common form. */
export class DenoExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly host: string;
  readonly remoteAddress: string;
  readonly secure: boolean;
  readonly httpVersion: "1.1" | "2";
  readonly response: DenoResponseWriter;
  /** Deno drops them. */
  readonly trailers = new Uint8Array(0);
  /** The error for an unacceptable request. */
  readonly fault: HttpError | null;
  readonly #request: Request;
  hasBody: boolean;
  /** HTTP/2 announces no body, and Deno does not report whether one follows. */
  readonly mayBeEmpty: boolean;
  readonly #head = new RequestHead();
  /** Whether the response is complete, so that the rest of the body is discarded. */
  #isBodyOver = false;
  #headers: readonly string[] | null = null;
  #first: Bytes | null = null;
  /** Deno provides it while the visitor is connected. */
  readonly #stream: ReadableStream<Bytes> | null;
  #reader: ReadableStreamDefaultReader<Bytes> | null = null;
  #body: ReadableStream<Bytes> | null = null;
  #onLeave: (() => void) | null = null;

  constructor(request: Request, remoteAddress: string, options: DenoExchangeOptions) {
    const { secure, isHttp2 } = options;
    this.#request = request;
    this.remoteAddress = remoteAddress;
    this.secure = secure;
    this.httpVersion = isHttp2 ? "2" : "1.1";
    this.method = request.method;
    this.response = new DenoResponseWriter(this, options.upgradeWebSocket);
    const { host, target } = splitUrl(request, isHttp2 === true);
    this.host = host;
    this.path = target ?? "/";
    const length = request.headers.get("content-length");
    const isAnnounced = length !== null ? length !== "0" : request.headers.has("transfer-encoding");
    const canHaveBody = request.method !== "GET" && request.method !== "HEAD";
    // HTTP/2 needs no length to have a body.
    const mayHaveBody = canHaveBody && isHttp2 !== false && length === null && !isAnnounced;
    this.hasBody = (canHaveBody && isAnnounced) || mayHaveBody;
    this.mayBeEmpty = mayHaveBody && (isHttp2 === null || !STREAMED.has(this.method));
    this.#stream = this.hasBody ? request.body : null;
    this.fault = target === null
      ? badRequest("The request target must be a path, and its host the Host header.")
      : isAnnounced && !canHaveBody
      ? badRequest(`A body with ${this.method} cannot be carried by this listener.`)
      : this.#parseHead(options.limits);
  }

  get head(): RequestHead {
    return this.#head;
  }

  get request(): Request {
    return this.#request;
  }

  /** The Accept field, also for rejected heads. */
  get accept(): string | null {
    return this.#request.headers.get("accept");
  }

  get headers(): readonly string[] {
    return this.#headers ??= listHeaders(this.#head, true);
  }

  get rawHeaders(): readonly string[] {
    return this.headers;
  }

  header(name: string): string | null {
    return this.#head.values(name);
  }

  get body(): ReadableStream<Bytes> | null {
    return this.hasBody ? this.#body ??= streamBody(this) : null;
  }

  async readBody(): Promise<Bytes | null> {
    const first = this.#first;
    this.#first = null;
    if (first !== null || !this.hasBody) return first;
    this.#reader ??= this.#stream?.getReader() ?? null;
    if (this.#reader === null) return null;
    let piece: Bytes | null;
    try {
      piece = await readPiece(this.#reader);
    } catch (cause) {
      throw new BodyCut("the visitor left", { cause });
    }
    if (this.#isBodyOver) throw new BodyCut("the rest of the body is not waited for");
    return piece;
  }

  /**
   * Keeps Deno from ending an unread body when the response starts: over HTTP/2 it would reset the stream with the
   * response. Afterwards the rest is read for a moment, then refused.
   * @param completed settles after the response
   */
  keepBody(completed: Promise<void>): void {
    const stream = this.#stream;
    if (stream === null || (this.#reader === null && stream.locked)) return;
    const reader = this.#reader ??= stream.getReader();
    completed.then(() => this.#takeRest(reader), () => this.#dropBody());
  }

  /** Stops reading the body. A waiting reader gets an error. */
  #dropBody(): void {
    if (this.#isBodyOver) return;
    this.#isBodyOver = true;
    // Another reader ends it, and a broken one has ended.
    void this.#reader?.cancel().catch(() => {});
  }

  async #takeRest(reader: ReadableStreamDefaultReader<Bytes>): Promise<void> {
    const timer = setTimeout(() => this.#dropBody(), LINGER_MS);
    try {
      this.#isBodyOver = true;
      for (let taken = 0; taken < LINGER_BYTES;) {
        const piece = await readPiece(reader);
        if (piece === null) return;
        taken += piece.length;
      }
    } catch {
      // The visitor disconnected, or reset the stream.
    } finally {
      clearTimeout(timer);
      void reader.cancel().catch(() => {});
    }
  }

  /**
   * Waits for the first chunk of a possibly empty body, because services rarely expect an empty chunked one.
   * @throws BodyCut when the visitor disconnects first
   */
  async findBody(): Promise<void> {
    this.#first = await this.readBody();
    this.hasBody = this.#first !== null;
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }

  get onLeave(): (() => void) | null {
    return this.#onLeave;
  }

  set onLeave(leave: (() => void) | null) {
    if (this.#onLeave === null && leave !== null) {
      if (this.signal.aborted) queueMicrotask(leave);
      else this.signal.addEventListener("abort", () => this.#onLeave?.());
    }
    this.#onLeave = leave;
  }

  get upgrade(): string | null {
    return this.isWebSocket ? "websocket" : null;
  }

  get isWebSocket(): boolean {
    return this.#head.upgrade && isWebSocketHandshake(this);
  }

  /** Returns the head in HTTP/1.1 form, so that forwarding needs only one form. */
  #parseHead({ maxHeadBytes, maxFields }: DenoExchangeOptions["limits"]): HttpError | null {
    let text = `${this.method} ${this.path} HTTP/1.1\r\nhost: ${this.host || "localhost"}\r\n`;
    this.#request.headers.forEach((value, name) => {
      // Deno's WebSocket supports no extensions, so the service must not grant any.
      if (name !== "host" && name !== "sec-websocket-extensions") text += `${name}: ${value}\r\n`;
    });
    const bytes = encodeLatin1(`${text}\r\n`);
    if (bytes.length > maxHeadBytes) return headFault(new RequestSyntaxError(HEAD_TOO_LARGE, 431));
    try {
      return this.#head.parse(bytes, 0, bytes.length, maxFields)
        ? null
        : badRequest("The request's head is malformed.");
    } catch (error) {
      if (!(error instanceof RequestSyntaxError)) throw error;
      return headFault(error);
    }
  }
}

/** Returns host and path as far as Deno's URL has them; no path if the target named another host. */
function splitUrl({ method, url, headers }: Request, isHttp2: boolean): { host: string; target: string | null } {
  const start = url.indexOf("//") + 2;
  const slash = url.indexOf("/", start);
  // Deno provides `:authority` only in the URL.
  const authority = url.slice(start, slash < 0 ? undefined : slash);
  const host = headers.get("host") ?? (isHttp2 ? authority : "");
  if (slash < 0 || (host !== "" && authority !== host)) return { host, target: null };
  const target = url.slice(slash);
  return { host, target: method === "OPTIONS" && target === "/*" ? "*" : asBytes(target) };
}

/** Deno decodes a raw path as UTF-8 if possible; this restores one character per byte. */
function asBytes(path: string): string {
  if (!/[\u0080-\uffff]/.test(path)) return path;
  const bytes = ENCODER.encode(path);
  return decodeLatin1(bytes, 0, bytes.length);
}

const ENCODER = new TextEncoder();

/** Returns the next non-empty chunk, or null: Deno returns an empty one for an HTTP/2 request without a body. */
async function readPiece(reader: ReadableStreamDefaultReader<Bytes>): Promise<Bytes | null> {
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return null;
    if (value.length > 0) return value;
  }
}
