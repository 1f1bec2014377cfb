import { releaseBuffer } from "../../../../common/buffers/buffer_pool.ts";
import type { HttpError } from "../../../../common/http_error.ts";
import { PieceQueue } from "../../../body/chunk_queue.ts";
import { encodeLatin1, RequestHead, RequestSyntaxError } from "../../../http1/mod.ts";
import { ErrorCode, StreamError } from "../../../http2/frames.ts";
import type { RequestFields } from "../../../http2/request_fields.ts";
import type { Session } from "../../../http2/session.ts";
import type { Stream, StreamReceiver } from "../../../http2/stream.ts";
import {
  badRequest,
  BodyPace,
  createRequest,
  HEAD_TOO_LARGE,
  headFault,
  Leavable,
  listHeaders,
  streamBody,
} from "../../_exchange.ts";
import type { ListenerLimits } from "../../limits.ts";
import type { ListenerTraffic } from "../../traffic.ts";
import { BodyCut, type Exchange } from "../../types.ts";
import { Http2ResponseWriter } from "./response.ts";

/** Methods whose body may be a stream that waits for the response to begin. */
const STREAMED: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);
/** Limits for an upload after its response: bytes, and checks, which run once a second. */
const LINGER_BYTES = 16 * 1024 * 1024;
const LINGER_CHECKS = 3;
const CONTINUE = encodeLatin1("Continue\r\n");
const NOTHING = new Uint8Array(0);

/** The connection as its exchanges see it. */
export interface ExchangeContext {
  readonly remoteAddress: string;
  readonly session: Session;
  readonly options: { readonly limits: ListenerLimits; readonly traffic: ListenerTraffic | null };
}

/** One HTTP/2 request with its body and its response: the receiver for a stream. */
export class Http2Exchange extends Leavable implements Exchange, StreamReceiver {
  readonly method: string;
  readonly path: string;
  readonly host: string;
  readonly secure = true;
  readonly httpVersion = "2";
  readonly response: Http2ResponseWriter;
  readonly upgrade = null;
  readonly isWebSocket = false;
  readonly head = new RequestHead();
  /** The reason why no handler may get this request. */
  readonly rejection: HttpError | null;
  hasBody: boolean;
  /** Whether a body was announced that may have no bytes. */
  readonly mayBeEmpty: boolean;
  trailers: Uint8Array<ArrayBuffer> = NOTHING;
  readonly #context: ExchangeContext;
  readonly #stream: Stream;
  readonly #pace = new BodyPace();
  /** Body bytes that are received and not read yet. */
  readonly #waiting = new PieceQueue();
  /** The buffer of the chunk that the reader has. */
  #lent: Uint8Array<ArrayBuffer> = NOTHING;
  /** Body bytes received so far. */
  #received = 0;
  #first: Uint8Array | null = null;
  /** Whether the rest of the body is dropped. */
  #isDropped = false;
  /** Whether the response is complete, the checks since then, and the body bytes received before. */
  #isResponded = false;
  #lingered = 0;
  #receivedBefore = 0;
  /** Ends the wait of the pending read. */
  #wake: () => void = () => {};
  #request: Request | null = null;
  #body: ReadableStream<Uint8Array<ArrayBuffer>> | null = null;

  /**
   * @param fields the request's fields, valid during the call only
   * @throws StreamError when they describe no request
   */
  constructor(context: ExchangeContext, stream: Stream, fields: RequestFields) {
    super();
    this.#context = context;
    this.#stream = stream;
    const bytes = fields.takeHead(), hasEnded = !stream.canReceive;
    this.method = fields.method;
    this.path = fields.path;
    this.host = fields.host;
    this.rejection = this.#parseHead(bytes, fields, context.options.limits.maxFields);
    const { head } = this;
    if (hasEnded) this.#checkLength(true);
    this.hasBody = !hasEnded && (!head.hasLength || head.length > 0);
    // A client that waits for 100 Continue has a body, and the handler decides when to request it.
    const isUncertain = this.hasBody && !head.hasLength && head.expectation !== "continue";
    this.mayBeEmpty = isUncertain && !STREAMED.has(this.method);
    this.response = new Http2ResponseWriter(context.session, stream, this.isHead, context.options.traffic);
  }

  get remoteAddress(): string {
    return this.#context.remoteAddress;
  }

  get isHead(): boolean {
    return this.method === "HEAD";
  }

  get headers(): readonly string[] {
    return listHeaders(this.head, true);
  }

  get rawHeaders(): readonly string[] {
    return this.headers;
  }

  header(name: string): string | null {
    return this.head.values(name);
  }

  get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    return this.hasBody ? this.#body ??= streamBody(this) : null;
  }

  async readBody(): Promise<Uint8Array | null> {
    const first = this.#first;
    this.#first = null;
    if (first !== null) return first;
    this.#releaseLent();
    if (!this.hasBody) return null;
    this.#askForBody();
    this.#pace.wait();
    for (;;) {
      if (this.#isDropped) throw new BodyCut("the rest of the body is dropped");
      if (this.hasLeft) throw new BodyCut("the visitor left");
      const next = this.#waiting.shift();
      if (next !== undefined) {
        this.#lent = next.bytes;
        this.#pace.came(next.used);
        // The client may send the next chunk while the reader uses this one.
        this.#consume(next.used);
        return next.bytes.subarray(0, next.used);
      }
      if (!this.#stream.canReceive) {
        this.#pace.came(0);
        return null;
      }
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }

  /**
   * Waits for the first chunk of a body that may be empty, because services treat an empty chunked body as unusual.
   * @throws BodyCut when the client disconnects before
   */
  async findBody(): Promise<void> {
    const first = await this.readBody();
    this.hasBody = first !== null;
    this.#first = first;
  }

  get request(): Request {
    return this.#request ??= createRequest(this);
  }

  onData(bytes: Uint8Array, size: number, end: boolean): void {
    this.#received += bytes.length;
    this.#checkLength(end);
    const isKept = this.hasBody && !this.#isDropped;
    if (isKept) this.#waiting.push(bytes);
    const dropped = isKept ? size - bytes.length : size;
    if (dropped > 0) this.#consume(dropped);
    this.#wake();
    const isTooMuch = this.#isResponded && this.#received - this.#receivedBefore > LINGER_BYTES;
    if (!end && isTooMuch) this.#reset(ErrorCode.none);
  }

  onTrailers(lines: Uint8Array<ArrayBuffer>): void {
    this.trailers = lines;
    this.onData(NOTHING, 0, true);
  }

  onSent(): void {
    this.#isResponded = true;
    this.#receivedBefore = this.#received;
    this.#dropBody();
  }

  onClosed(): void {
    this.#dropBody();
    if (this.#isResponded) return;
    this.tellLeft();
    this.#wake();
  }

  onTick(): void {
    const { limits } = this.#context.options;
    if (this.#isResponded) {
      if (++this.#lingered >= LINGER_CHECKS) this.#reset(ErrorCode.none);
    } else if (this.#pace.isTooSlow(limits)) this.#reset(ErrorCode.cancel);
    else if (this.response.isStalled(limits)) this.response.cut();
  }

  #reset(code: ErrorCode): void {
    this.#context.session.streams.reset(this.#stream, code);
  }

  #consume(bytes: number): void {
    this.#context.session.streams.consume(this.#stream, bytes, this.#waiting.size, performance.now());
  }

  /** Drops the rest of the body and ends the pending read with an error. */
  #dropBody(): void {
    this.#isDropped = true;
    const dropped = this.#waiting.drop();
    if (dropped > 0) this.#consume(dropped);
    this.#wake();
  }

  /** Returns the last chunk's buffer to the pool. Only the reader's next call proves that the reader is done with it. */
  #releaseLent(): void {
    if (this.#lent.length > 0) releaseBuffer(this.#lent);
    this.#lent = NOTHING;
  }

  #askForBody(): void {
    const isAsked = this.head.expectation === "continue" && this.#received === 0 && this.#stream.canReceive;
    if (isAsked && !this.response.begun) this.response.inform(100, CONTINUE);
  }

  /** @param end the body is complete */
  #checkLength(end: boolean): void {
    const { hasLength, length } = this.head;
    if (this.rejection === null && hasLength && (this.#received > length || (end && this.#received < length))) {
      throw new StreamError(ErrorCode.protocol, "the body differs from its Content-Length");
    }
  }

  #parseHead(bytes: Uint8Array, fields: RequestFields, maxFields: number): HttpError | null {
    try {
      if (fields.isTooLarge) throw new RequestSyntaxError(HEAD_TOO_LARGE, 431);
      const isWhole = this.head.parse(bytes, 0, bytes.length, maxFields);
      if (fields.hasTwoHosts) return badRequest("The Host header names another host than the request.");
      // Other target forms would contain a host of their own.
      const isPath = this.path.startsWith("/") || this.path === "*";
      return isWhole && isPath ? null : badRequest("The request's head is malformed.");
    } catch (error) {
      if (!(error instanceof RequestSyntaxError)) throw error;
      return headFault(error);
    }
  }
}
