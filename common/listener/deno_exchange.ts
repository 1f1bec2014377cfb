import { decodeLatin1, encodeLatin1, RequestHead, RequestSyntaxError } from "../http1/mod.ts";
import { HttpError } from "../http_error.ts";
import { badRequest, isWebSocketHandshake, listHeaders, streamBody } from "./_request.ts";
import { DenoReply } from "./deno_reply.ts";
import { BodyCut, type Exchange } from "./types.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** Where a request came from. */
export interface DenoExchangeOptions {
  secure: boolean;
  isHttp2: boolean;
}

/** Field lines of a request that Deno has taken: it has limits of its own. */
const MAX_FIELDS = 1024;
/** Methods whose bodies may be streams that wait for the answer to begin. */
const STREAMED: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/** A request as `Deno.serve` gives it, brought into the form of the others. */
export class DenoExchange implements Exchange {
  readonly method: string;
  readonly target: string;
  readonly host: string;
  readonly remoteAddress: string;
  readonly secure: boolean;
  readonly httpVersion: "1.1" | "2";
  readonly request: Request;
  readonly reply: DenoReply;
  /** Deno drops them. */
  readonly trailers = new Uint8Array(0);
  /** What makes this request unfit to be answered by anyone. */
  readonly fault: HttpError | null;
  hasBody: boolean;
  /** HTTP/2 announces no body, and Deno does not tell whether one follows. */
  readonly mayBeEmpty: boolean;
  readonly #head = new RequestHead();
  #headers: readonly string[] | null = null;
  #first: Bytes | null = null;
  #reader: ReadableStreamDefaultReader<Bytes> | null = null;
  #body: ReadableStream<Bytes> | null = null;
  #onLeave: (() => void) | null = null;

  constructor(request: Request, remoteAddress: string, { secure, isHttp2 }: DenoExchangeOptions) {
    this.request = request;
    this.remoteAddress = remoteAddress;
    this.secure = secure;
    this.httpVersion = isHttp2 ? "2" : "1.1";
    this.method = request.method;
    this.reply = new DenoReply(this);
    const { host, target } = splitUrl(request, isHttp2);
    this.host = host;
    this.target = asBytes(target ?? "/");
    const length = request.headers.get("content-length");
    const isAnnounced = length !== null ? length !== "0" : request.headers.has("transfer-encoding");
    const canHaveBody = this.method !== "GET" && this.method !== "HEAD";
    // HTTP/2 needs no length to have a body.
    const mayHaveBody = canHaveBody && isHttp2 && length === null;
    this.hasBody = (canHaveBody && isAnnounced) || mayHaveBody;
    this.mayBeEmpty = mayHaveBody && !STREAMED.has(this.method);
    this.fault = target === null
      ? badRequest("The request target must be a path, and its host the Host header.")
      : isAnnounced && !canHaveBody
      ? badRequest(`A body with ${this.method} cannot be carried by this listener.`)
      : this.#parseHead();
  }

  get head(): RequestHead {
    return this.#head;
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
    this.#reader ??= this.request.body?.getReader() ?? null;
    if (this.#reader === null) return null;
    try {
      return await readPiece(this.#reader);
    } catch (cause) {
      throw new BodyCut("the visitor left", { cause });
    }
  }

  /**
   * Waits for the first piece of a body that may be none: to a service a chunked one without a piece is an oddity.
   * @throws BodyCut when the visitor leaves before it
   */
  async findBody(): Promise<void> {
    this.#first = await this.readBody();
    this.hasBody = this.#first !== null;
  }

  get signal(): AbortSignal {
    return this.request.signal;
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

  /** The head as it would have come over HTTP/1.1, so that what passes heads on needs to know one form only. */
  #parseHead(): HttpError | null {
    let text = `${this.method} ${this.target} HTTP/1.1\r\nhost: ${this.host || "localhost"}\r\n`;
    this.request.headers.forEach((value, name) => {
      // Deno's WebSocket knows none, so the service must not grant any.
      if (name !== "host" && name !== "sec-websocket-extensions") text += `${name}: ${value}\r\n`;
    });
    const bytes = encodeLatin1(`${text}\r\n`);
    try {
      return this.#head.parse(bytes, 0, bytes.length, MAX_FIELDS)
        ? null
        : badRequest("The request's head is malformed.");
    } catch (error) {
      if (!(error instanceof RequestSyntaxError)) throw error;
      return badRequest(error.message, { cause: error });
    }
  }
}

/** Deno decodes a target as UTF-8: one character a byte again. */
function asBytes(target: string): string {
  if (/^[\x20-\x7e]*$/.test(target)) return target;
  const bytes = new TextEncoder().encode(target);
  return decodeLatin1(bytes, 0, bytes.length);
}

/** Host and path of a request, as far as Deno's URL has them; no path where the target named another host. */
function splitUrl({ url, headers }: Request, isHttp2: boolean): { host: string; target: string | null } {
  const start = url.indexOf("//") + 2;
  const slash = url.indexOf("/", start);
  // Deno shows the host of HTTP/2, its `:authority`, in the URL alone.
  const authority = url.slice(start, slash < 0 ? undefined : slash);
  const host = (isHttp2 ? null : headers.get("host")) ?? (isHttp2 ? authority : "");
  if (slash < 0 || (!isHttp2 && host !== "" && authority !== host)) return { host, target: null };
  return { host, target: url.slice(slash) };
}

/** The next piece that holds something, or null: Deno gives an empty one where HTTP/2 says that there is no body. */
async function readPiece(reader: ReadableStreamDefaultReader<Bytes>): Promise<Bytes | null> {
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return null;
    if (value.length > 0) return value;
  }
}
