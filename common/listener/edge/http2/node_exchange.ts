import type { Buffer } from "node:buffer";
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { HttpError } from "../../../http_error.ts";
import { encodeLatin1, RequestHead, RequestSyntaxError } from "../../../http1/mod.ts";
import { badRequest, createRequest, listHeaders, streamBody } from "../../_request.ts";
import { BodyPace } from "../../body_pace.ts";
import type { ListenerLimits } from "../../limits.ts";
import { BodyCut, type Exchange } from "../../types.ts";
import { NodeReply } from "./node_reply.ts";

/** A request as node:http2 gives it. */
export interface NodeRequest {
  fields: IncomingHttpHeaders;
  /** Names and values in turn, as they came. */
  raw: readonly string[];
  hasBody: boolean;
  remoteAddress: string;
  maxFields: number;
}

/** Methods whose bodies may be streams that wait for the answer to begin. */
const STREAMED: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);
/** How much of an upload is taken, in bytes, and how long, in milliseconds, once its answer is complete. */
const LINGER_BYTES = 16 * 1024 * 1024;
const LINGER_MS = 2000;

/** A request of HTTP/2, brought into the form of the others. */
export class NodeExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly host: string;
  readonly remoteAddress: string;
  readonly secure = true;
  readonly httpVersion = "2";
  readonly reply: NodeReply;
  readonly upgrade = null;
  readonly isWebSocket = false;
  /** What makes this request unfit to be answered by anyone. */
  readonly fault: HttpError | null;
  hasBody: boolean;
  /** A body was announced, and may be none. */
  readonly mayBeEmpty: boolean;
  trailers = new Uint8Array(0);
  readonly #stream: ServerHttp2Stream;
  readonly #head = new RequestHead();
  readonly #pace = new BodyPace();
  #first: Uint8Array | null = null;
  #hasEnded = false;
  #hasLeft = false;
  #onLeave: (() => void) | null = null;
  #isDropped = false;
  /** Ends the wait of the pending read. */
  #wake: () => void = () => {};
  #abort: AbortController | null = null;
  #request: Request | null = null;
  #body: ReadableStream<Uint8Array<ArrayBuffer>> | null = null;

  constructor(stream: ServerHttp2Stream, request: NodeRequest) {
    const { fields, raw, hasBody, remoteAddress } = request;
    this.#stream = stream;
    this.remoteAddress = remoteAddress;
    this.method = fields[":method"] ?? "";
    this.path = fields[":path"] ?? "";
    this.host = fields[":authority"] ?? fields.host ?? "";
    this.hasBody = hasBody && fields["content-length"] !== "0";
    this.mayBeEmpty = this.hasBody && fields["content-length"] === undefined && !STREAMED.has(this.method);
    this.reply = new NodeReply(stream, this.method === "HEAD");
    this.fault = fields.host !== undefined && fields.host !== this.host
      ? badRequest("The Host header names another host than the request.")
      : this.#parseHead(raw, request.maxFields);
    this.#listen(stream);
  }

  get head(): RequestHead {
    return this.#head;
  }

  get headers(): readonly string[] {
    return listHeaders(this.#head, true);
  }

  get rawHeaders(): readonly string[] {
    return this.headers;
  }

  header(name: string): string | null {
    return this.#head.values(name);
  }

  get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    return this.hasBody ? this.#body ??= streamBody(this) : null;
  }

  async readBody(): Promise<Uint8Array | null> {
    const first = this.#first;
    this.#first = null;
    if (first !== null) return first;
    this.#pace.wait();
    while (true) {
      if (this.#isDropped) throw new BodyCut("the rest of the body is not waited for");
      if (this.#hasLeft) throw new BodyCut("the visitor left");
      const piece: Buffer | null = this.#stream.read();
      if (piece !== null) {
        this.#pace.came(piece.length);
        return piece;
      }
      if (this.#hasEnded || !this.hasBody) return null;
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }

  /**
   * Waits for the first piece of a body that may be none: to a service a chunked one without a piece is an oddity.
   * @throws BodyCut when the visitor leaves before it
   */
  async findBody(): Promise<void> {
    const first = await this.readBody();
    this.hasBody = first !== null;
    this.#first = first;
  }

  /** Asked once a second: whether less of the body comes than from a visitor who wants to be heard. */
  isTooSlow(limits: ListenerLimits): boolean {
    return this.#pace.isTooSlow(limits);
  }

  /** Takes no more of the body: whoever waits for it hears that it was cut. */
  dropBody(): void {
    this.#isDropped = true;
    this.#wake();
  }

  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#hasLeft) this.#abort.abort(createLeft());
    return this.#abort.signal;
  }

  get onLeave(): (() => void) | null {
    return this.#onLeave;
  }

  set onLeave(leave: (() => void) | null) {
    this.#onLeave = leave;
    if (this.#hasLeft && leave !== null) queueMicrotask(leave);
  }

  get request(): Request {
    return this.#request ??= createRequest(this);
  }

  #listen(stream: ServerHttp2Stream): void {
    stream.on("readable", () => this.#wake());
    stream.on("trailers", (_fields: unknown, _flags: unknown, raw: unknown) => this.trailers = createLines(raw));
    stream.on("end", () => {
      this.#hasEnded = true;
      this.#wake();
    });
    // It ends like any other way of leaving.
    stream.on("error", () => {});
    stream.once("close", () => this.#onClose());
    this.reply.onOver = () => this.#linger();
  }

  #onClose(): void {
    if (this.reply.isOver && !this.reply.isCut && this.#stream.rstCode === constants.NGHTTP2_NO_ERROR) {
      return this.dropBody();
    }
    this.#hasLeft = true;
    this.#wake();
    this.#onLeave?.();
    this.#abort?.abort(createLeft());
  }

  /** The answer is complete: the rest of the upload is taken for a moment, and then refused. */
  #linger(): void {
    this.dropBody();
    const stream = this.#stream;
    if (this.#hasEnded || !this.hasBody) return;
    const refuse = () => stream.close(constants.NGHTTP2_NO_ERROR);
    const timer = setTimeout(refuse, LINGER_MS);
    stream.once("close", () => clearTimeout(timer));
    let taken = 0;
    stream.on("data", (piece: Buffer) => {
      taken += piece.length;
      if (taken > LINGER_BYTES) refuse();
    });
    stream.resume();
  }

  /** The head as it would have come over HTTP/1.1, so that what passes heads on needs to know one form only. */
  #parseHead(raw: readonly string[], maxFields: number): HttpError | null {
    let text = `${this.method} ${this.path} HTTP/1.1\r\nhost: ${this.host || "localhost"}\r\n`, cookies = "";
    for (let at = 0; at < raw.length; at += 2) {
      const name = raw[at], value = raw[at + 1];
      if (name.startsWith(":") || name === "host") continue;
      // RFC 9113, section 8.2.3.
      if (name === "cookie") cookies = cookies === "" ? value : `${cookies}; ${value}`;
      else text += `${name}: ${value}\r\n`;
    }
    if (cookies !== "") text += `cookie: ${cookies}\r\n`;
    const bytes = encodeLatin1(`${text}\r\n`);
    try {
      // Another form would name a host of its own.
      const isPath = this.path.startsWith("/") || this.path === "*";
      if (this.#head.parse(bytes, 0, bytes.length, maxFields) && isPath) return null;
      return badRequest("The request's head is malformed.");
    } catch (error) {
      if (!(error instanceof RequestSyntaxError)) throw error;
      return badRequest(error.message, { cause: error });
    }
  }
}

/** Names and values in turn as field lines. */
function createLines(raw: unknown): Uint8Array<ArrayBuffer> {
  let text = "";
  if (Array.isArray(raw)) { for (let at = 0; at < raw.length; at += 2) text += `${raw[at]}: ${raw[at + 1]}\r\n`; }
  return encodeLatin1(text);
}

const createLeft = () => new DOMException("The visitor has gone.", "AbortError");
