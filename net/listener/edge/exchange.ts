import { dropForbiddenTrailers, type RequestHead } from "../../http1/mod.ts";
import { createRequest, isWebSocketHandshake, Leavable, listHeaders, streamBody } from "../_exchange.ts";
import type { ListenerTraffic } from "../traffic.ts";
import type { Exchange, ResponseWriter } from "../types.ts";
import { type BodyConnection, RequestBody } from "./request_body.ts";
import type { Connection } from "../../connection/mod.ts";
import { acquireBuffer, releaseBuffer } from "../../../common/buffers/buffer_pool.ts";

/** The connection as an exchange and its response see it. */
export interface ExchangeConnection extends BodyConnection {
  readonly remoteAddress: string;
  readonly secure: boolean;
  /** Counts responses, if enabled. */
  readonly traffic: ListenerTraffic | null;
  /** Whether the connection was accepted above the limit, for requests that must get in. */
  readonly isOverLimit: boolean;
  /** Whether the connection may carry another request after this one. */
  readonly keepAlive: boolean;
  /** Makes the running response the last one. */
  endAfterResponse(): void;
  /**
   * Writes the end of the response, and ends the exchange once it is written.
   * @param buffer contains `bytes`; the connection releases it
   */
  writeLast(bytes: Uint8Array, buffer: Uint8Array<ArrayBuffer>): void;
  /** The response was written. */
  exchangeOver(exchange: EdgeExchange): void;
  /** Breaks the response off. */
  cut(exchange: EdgeExchange): void;
  /** Hands the connection over, with the bytes that were read. */
  upgrade(): Connection;
}

/** An HTTP/1.1 or 1.0 request. Derived values are created on demand, because most requests are forwarded as bytes. */
export class EdgeExchange extends Leavable implements Exchange {
  readonly response: ResponseWriter;
  /** The body; null for most requests, which have none. */
  readonly input: RequestBody | null;
  readonly #connection: ExchangeConnection;
  /** Whether the connection no longer serves this exchange. */
  hasSettled = false;
  #body: ReadableStream<Uint8Array<ArrayBuffer>> | null = null;
  #request: Request | null = null;
  #headers: readonly string[] | null = null;

  /** @param connection after it has read the head */
  constructor(connection: ExchangeConnection) {
    super();
    this.#connection = connection;
    this.input = connection.head.framing === "none" ? null : new RequestBody(connection);
    this.response = new EdgeResponseWriter(connection, this);
  }

  get head(): RequestHead {
    return this.#connection.head;
  }

  get method(): string {
    return this.head.method;
  }

  get path(): string {
    return this.head.path;
  }

  get host(): string {
    return this.head.host;
  }

  /** Whether the response body is omitted. */
  get isHead(): boolean {
    return this.head.method === "HEAD";
  }

  get httpVersion(): "1.0" | "1.1" {
    return this.head.minorVersion === 1 ? "1.1" : "1.0";
  }

  get remoteAddress(): string {
    return this.#connection.remoteAddress;
  }

  get isOverLimit(): boolean {
    return this.#connection.isOverLimit;
  }

  get secure(): boolean {
    return this.#connection.secure;
  }

  get headers(): readonly string[] {
    return this.#headers ??= listHeaders(this.head, true);
  }

  get rawHeaders(): readonly string[] {
    return listHeaders(this.head, false);
  }

  header(name: string): string | null {
    return this.head.values(name);
  }

  get hasBody(): boolean {
    return this.head.framing !== "none";
  }

  get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    return this.hasBody ? this.#body ??= streamBody(this) : null;
  }

  readBody(): Promise<Uint8Array | null> {
    return this.input?.read() ?? NO_MORE;
  }

  get trailers(): Uint8Array {
    return this.input?.trailers ?? NO_TRAILERS;
  }

  get request(): Request {
    return this.#request ??= createRequest(this);
  }

  get upgrade(): string | null {
    return this.head.upgrade && !this.hasBody ? this.head.value(this.head.upgradeField) : null;
  }

  get isWebSocket(): boolean {
    return this.head.upgrade && isWebSocketHandshake(this);
  }

  /** Reports that the visitor disconnected before the response was complete. */
  leave(): void {
    this.settle();
    this.tellLeft();
  }

  /** Detaches the exchange from its connection. */
  settle(): void {
    this.hasSettled = true;
    this.input?.abandon();
  }
}

const NO_MORE = Promise.resolve(null);
const NO_TRAILERS = new Uint8Array(0);

const ENCODER = new TextEncoder();
const CONNECTION_CLOSE = ENCODER.encode("connection: close\r\n");
const CONNECTION_KEEP_ALIVE = ENCODER.encode("connection: keep-alive\r\n");
const CHUNKED = ENCODER.encode("transfer-encoding: chunked\r\n");
const CRLF = ENCODER.encode("\r\n");
const NOTHING = new Uint8Array(0);
/** `HTTP/1.1 200 `. */
const STATUS_LINE = ENCODER.encode("HTTP/1.1 000 ");
/** Space around a block: the status line's start, the fields above, the blank line, a chunk's frame. */
const AROUND_BLOCK = 160;
/**
 * `ffffffff\r
 * ` and `\r
 * ` around a chunk, and `0\r
 * \r
 * ` after the last.
 */
const AROUND_CHUNK = 20;

/** Framing for the response (RFC 9112, section 6.3). */
type Framing = "none" | "length" | "chunked" | "close";

/** The response for one exchange, written to its connection. */
class EdgeResponseWriter implements ResponseWriter {
  begun = false;
  readonly #connection: ExchangeConnection;
  readonly #exchange: EdgeExchange;
  #framing: Framing = "none";
  /** Remaining body bytes, if a length was given. */
  #left = 0;
  /** The current write, which the next one waits for. */
  #writing: Promise<void> | null = null;
  #isOver = false;

  constructor(connection: ExchangeConnection, exchange: EdgeExchange) {
    this.#connection = connection;
    this.#exchange = exchange;
  }

  inform(status: number, block: Uint8Array): void {
    if (this.begun || this.#isGone || this.#connection.head.minorVersion === 0) return;
    const out = acquireBuffer(block.length + AROUND_BLOCK);
    let at = writeStatus(out, status);
    at = put(out, at, block);
    this.#write(out, put(out, at, CRLF), false);
  }

  begin(status: number, block: Uint8Array, length: number | null, body: Uint8Array, end: boolean): void {
    if (this.begun || this.#isGone) return;
    this.begun = true;
    const connection = this.#connection;
    connection.traffic?.countResponse(status);
    this.#framing = this.#chooseFraming(status, length);
    this.#left = length ?? 0;
    // The rest of the request is discarded, because a following request could be misread.
    if (this.#framing === "close" || this.#exchange.input?.isHere === false) connection.endAfterResponse();
    const out = acquireBuffer(block.length + body.length + AROUND_BLOCK);
    let at = writeStatus(out, status);
    at = put(out, at, block);
    if (!connection.keepAlive) at = put(out, at, CONNECTION_CLOSE);
    else if (connection.head.minorVersion === 0) at = put(out, at, CONNECTION_KEEP_ALIVE);
    if (this.#framing === "chunked") at = put(out, at, CHUNKED);
    at = put(out, at, CRLF);
    if (this.#framing === "length" && !this.#count(body.length, end)) {
      releaseBuffer(out);
      return this.cut();
    }
    this.#write(out, this.#putPiece(out, at, body, end), end);
  }

  write(piece: Uint8Array, end = false): Promise<void> {
    if (this.#isGone || this.#isOver) return DONE;
    if (this.#framing === "length" && !this.#count(piece.length, end)) {
      this.cut();
      return DONE;
    }
    if (this.#framing === "chunked" && (piece.length > 0 || end)) {
      const out = acquireBuffer(piece.length + AROUND_CHUNK);
      return this.#write(out, this.#putPiece(out, 0, piece, end), end);
    }
    if (this.#framing !== "none" && piece.length > 0) return this.#queue(piece, null, end);
    if (end) this.#finish();
    return this.#writing ?? DONE;
  }

  end(trailers: Uint8Array = NOTHING): void {
    if (this.#isGone || this.#isOver) return;
    if (this.#framing === "length" && this.#left > 0) return this.cut();
    if (this.#framing === "chunked") {
      const out = acquireBuffer(trailers.length + AROUND_CHUNK);
      let at = put(out, 0, LAST_CHUNK);
      at = put(out, at, dropForbiddenTrailers(trailers));
      this.#write(out, put(out, at, CRLF), true);
    } else this.#finish();
  }

  cut(): void {
    this.#isOver = true;
    this.#connection.cut(this.#exchange);
  }

  switchProtocols(block: Uint8Array): Connection {
    this.begun = this.#isOver = true;
    this.#connection.traffic?.countResponse(101);
    const out = acquireBuffer(block.length + AROUND_BLOCK);
    let at = writeStatus(out, 101);
    at = put(out, at, block);
    at = put(out, at, CONNECTION_UPGRADE);
    at = put(out, at, CRLF);
    const upgraded = this.#connection.upgrade();
    this.#write(out, at, false);
    return upgraded;
  }

  /** Reports another end of the exchange. */
  get #isGone(): boolean {
    return this.#exchange.hasSettled;
  }

  #chooseFraming(status: number, length: number | null): Framing {
    if (this.#exchange.isHead || status === 204 || status === 304) return "none";
    if (length !== null) return "length";
    return this.#connection.head.minorVersion === 1 ? "chunked" : "close";
  }

  /** Counts body bytes, and returns whether they fit the length. */
  #count(bytes: number, end: boolean): boolean {
    this.#left -= bytes;
    return this.#left === 0 || (this.#left > 0 && !end);
  }

  /** Frames a body chunk, and returns its end. */
  #putPiece(out: Uint8Array, at: number, piece: Uint8Array, end: boolean): number {
    if (this.#framing === "none") return at;
    if (this.#framing !== "chunked") return put(out, at, piece);
    if (piece.length > 0) {
      at += ENCODER.encodeInto(`${piece.length.toString(16)}\r\n`, out.subarray(at)).written;
      at = put(out, at, piece);
      at = put(out, at, CRLF);
    }
    return end ? put(out, put(out, at, LAST_CHUNK), CRLF) : at;
  }

  /** Writes `out[0, end)` in order, then releases the buffer. */
  #write(out: Uint8Array<ArrayBuffer>, end: number, isLast: boolean): Promise<void> {
    return this.#queue(out.subarray(0, end), out, isLast);
  }

  /** @param isLast the exchange ends after this write */
  #queue(bytes: Uint8Array, memory: Uint8Array<ArrayBuffer> | null, isLast: boolean): Promise<void> {
    if (isLast) this.#isOver = true;
    const connection = this.#connection, before = this.#writing;
    // The common case, without waiting: the connection owns the buffer.
    if (isLast && before === null && memory !== null) {
      connection.writeLast(bytes, memory);
      return DONE;
    }
    const write = before === null ? connection.write(bytes) : before.then(() => connection.write(bytes));
    const writing = this.#writing = write.then(() => {
      if (memory !== null) releaseBuffer(memory);
      if (this.#writing === writing) this.#writing = null;
      if (isLast) connection.exchangeOver(this.#exchange);
    });
    return writing;
  }

  /** Ends the exchange after the last write. */
  #finish(): void {
    this.#isOver = true;
    if (this.#writing === null) this.#connection.exchangeOver(this.#exchange);
    else void this.#writing.then(() => this.#connection.exchangeOver(this.#exchange));
  }
}

const DONE = Promise.resolve();
const LAST_CHUNK = ENCODER.encode("0\r\n");
const CONNECTION_UPGRADE = ENCODER.encode("connection: Upgrade\r\n");

/** Below this length a loop is faster than a view. */
const SHORT = 48;

function put(out: Uint8Array, at: number, bytes: Uint8Array): number {
  if (bytes.length > SHORT) out.set(bytes, at);
  else for (let index = 0; index < bytes.length; index++) out[at + index] = bytes[index];
  return at + bytes.length;
}

function writeStatus(out: Uint8Array, status: number): number {
  put(out, 0, STATUS_LINE);
  out[9] += Math.floor(status / 100);
  out[10] += Math.floor(status / 10) % 10;
  out[11] += status % 10;
  return STATUS_LINE.length;
}
