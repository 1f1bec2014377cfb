import type { HttpError } from "../../../../common/http_error.ts";
import { encodeLatin1, RequestHead, RequestSyntaxError } from "../../../http1/mod.ts";
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
import { ErrorCode, StreamError } from "./frames.ts";
import { Incoming } from "./incoming.ts";
import { Http2ResponseWriter, type Replied } from "./response.ts";
import type { RequestFields } from "./request_fields.ts";
import type { Sender } from "./sender.ts";

/** Methods whose bodies may be streams that wait for the answer to begin. */
const STREAMED: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);
/** How much of an upload is taken, in bytes, and how many looks at it, a second apart, once its answer is complete. */
const LINGER_BYTES = 16 * 1024 * 1024;
const LINGER_CHECKS = 3;
const CONTINUE = encodeLatin1("Continue\r\n");

/** What an exchange asks of the connection it is on. */
export interface Http2Line {
  readonly remoteAddress: string;
  readonly sender: Sender;
  readonly traffic: ListenerTraffic | null;
  /** Of a body so many bytes have been taken; the visitor may send `more` of this stream. */
  taken(exchange: Http2Exchange, bytes: number, more: number): void;
  /** Ends a stream in both directions, and tells the visitor. */
  reset(exchange: Http2Exchange, code: ErrorCode): void;
  /** Both directions have ended. */
  forget(exchange: Http2Exchange): void;
}

/** A request of HTTP/2, brought into the form of the others. */
export class Http2Exchange extends Leavable implements Exchange, Replied {
  readonly id: number;
  readonly method: string;
  readonly path: string;
  readonly host: string;
  readonly secure = true;
  readonly httpVersion = "2";
  readonly response: Http2ResponseWriter;
  readonly upgrade = null;
  readonly isWebSocket = false;
  readonly head = new RequestHead();
  /** What makes this request unfit to be answered by anyone. */
  readonly fault: HttpError | null;
  hasBody: boolean;
  /** A body was announced, and may be none. */
  readonly mayBeEmpty: boolean;
  trailers: Uint8Array<ArrayBuffer> = NOTHING;
  /** The visitor's direction is complete. */
  hasEnded: boolean;
  /** It is over, in whichever way. */
  isOver = false;
  readonly #line: Http2Line;
  readonly #incoming = new Incoming();
  readonly #pace = new BodyPace();
  /** Bytes of the body that came. */
  #came = 0;
  #first: Uint8Array | null = null;
  /** Nobody reads the rest of the body. */
  #isDropped = false;
  /** The answer is out; since so many checks, and with so many bytes of the body having come before. */
  #isResponded = false;
  #lingered = 0;
  #cameBefore = 0;
  /** Ends the wait of the pending read. */
  #wake: () => void = () => {};
  #request: Request | null = null;
  #body: ReadableStream<Uint8Array<ArrayBuffer>> | null = null;

  /**
   * @param fields of the block that has just been read
   * @param hasEnded no body follows
   * @throws StreamError when they are no request's
   */
  constructor(line: Http2Line, id: number, fields: RequestFields, hasEnded: boolean, maxFields: number) {
    super();
    this.#line = line;
    this.id = id;
    this.hasEnded = hasEnded;
    const bytes = fields.takeHead();
    this.method = fields.method;
    this.path = fields.path;
    this.host = fields.host;
    this.fault = this.#parseHead(bytes, fields, maxFields);
    const { head } = this;
    if (hasEnded) this.#checkLength();
    this.hasBody = !hasEnded && (!head.hasLength || head.length > 0);
    this.mayBeEmpty = this.hasBody && !head.hasLength && !STREAMED.has(this.method);
    this.response = new Http2ResponseWriter(this, line.sender, line.traffic);
  }

  get remoteAddress(): string {
    return this.#line.remoteAddress;
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
    const incoming = this.#incoming;
    incoming.release();
    if (!this.hasBody) return null;
    this.#askForBody();
    this.#pace.wait();
    for (;;) {
      if (this.#isDropped) throw new BodyCut("the rest of the body is not waited for");
      if (this.hasLeft) throw new BodyCut("the visitor left");
      const piece = incoming.shift();
      if (piece !== null) {
        this.#pace.came(piece.length);
        // Whoever asks for a piece takes it: the next one may be on its way meanwhile.
        this.#line.taken(this, piece.length, this.hasEnded ? 0 : incoming.taken(piece.length));
        return piece;
      }
      if (this.hasEnded) {
        this.#pace.came(0);
        return null;
      }
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

  get request(): Request {
    return this.#request ??= createRequest(this);
  }

  /**
   * More of the body has come.
   * @param size bytes that its frame took of the windows, padding included
   * @throws StreamError when it is more than may come, or another length than the head has
   */
  onData(piece: Uint8Array, size: number, end: boolean): void {
    const incoming = this.#incoming;
    incoming.allowance -= size;
    if (incoming.allowance < 0) throw new StreamError(ErrorCode.flowControl, "more came than may come");
    if (this.hasEnded) throw new StreamError(ErrorCode.streamClosed, "DATA behind the end");
    this.#came += piece.length;
    this.hasEnded = end;
    this.#checkLength();
    const isKept = this.hasBody && !this.#isDropped;
    if (isKept) incoming.push(piece);
    const passedOver = isKept ? size - piece.length : size;
    if (passedOver > 0) this.#line.taken(this, passedOver, end ? 0 : incoming.taken(passedOver));
    this.#wake();
    if (!this.#isResponded) return;
    if (end) this.#finish();
    else if (this.#came - this.#cameBefore > LINGER_BYTES) this.reset(ErrorCode.none);
  }

  /** The body has ended, and these field lines follow it. @throws StreamError as {@link onData} does */
  onTrailers(lines: Uint8Array<ArrayBuffer>): void {
    this.trailers = lines;
    this.onData(NOTHING, 0, true);
  }

  /** The answer is out: what is left of the upload is taken for a moment, and then refused. */
  onResponded(): void {
    this.#isResponded = true;
    this.#cameBefore = this.#came;
    this.dropBody();
    if (this.hasEnded) this.#finish();
  }

  /** Takes no more of the body: whoever waits for it hears that it was cut. */
  dropBody(): void {
    this.#isDropped = true;
    const dropped = this.#incoming.drop();
    if (dropped > 0) this.#line.taken(this, dropped, this.hasEnded ? 0 : this.#incoming.taken(dropped));
    this.#wake();
  }

  reset(code: ErrorCode): void {
    if (!this.isOver) this.#line.reset(this, code);
  }

  /** Once a second: ends what a visitor neither goes on with nor takes. */
  check(limits: ListenerLimits): void {
    if (this.#isResponded) {
      if (++this.#lingered >= LINGER_CHECKS) this.reset(ErrorCode.none);
    } else if (this.#pace.isTooSlow(limits)) this.reset(ErrorCode.cancel);
    else if (this.response.isStalled(limits)) this.response.cut();
  }

  /** The stream has ended before its time, or with the connection. */
  leave(): void {
    if (this.isOver) return;
    this.#settle();
    if (this.#isResponded) return;
    this.tellLeft();
    this.#wake();
  }

  #finish(): void {
    if (this.isOver) return;
    this.#settle();
    this.#line.forget(this);
  }

  #settle(): void {
    this.isOver = true;
    this.#line.sender.drop(this.response.outgoing);
    this.dropBody();
  }

  #askForBody(): void {
    const isAsked = this.head.expectation === "continue" && this.#came === 0 && !this.hasEnded;
    if (isAsked && !this.response.begun) this.response.inform(100, CONTINUE);
  }

  #checkLength(): void {
    const { hasLength, length } = this.head;
    if (this.fault === null && hasLength && (this.#came > length || (this.hasEnded && this.#came < length))) {
      throw new StreamError(ErrorCode.protocol, "the body has another length than it says");
    }
  }

  #parseHead(bytes: Uint8Array, fields: RequestFields, maxFields: number): HttpError | null {
    try {
      if (fields.isTooLarge) throw new RequestSyntaxError(HEAD_TOO_LARGE, 431);
      const isWhole = this.head.parse(bytes, 0, bytes.length, maxFields);
      if (fields.hasTwoHosts) return badRequest("The Host header names another host than the request.");
      // Another form would name a host of its own.
      const isPath = this.path.startsWith("/") || this.path === "*";
      return isWhole && isPath ? null : badRequest("The request's head is malformed.");
    } catch (error) {
      if (!(error instanceof RequestSyntaxError)) throw error;
      return headFault(error);
    }
  }
}

const NOTHING = new Uint8Array(0);
