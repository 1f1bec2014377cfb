import { acquireBuffer, LARGE, MEDIUM, releaseBuffer, SMALL } from "../../../common/buffers/buffer_pool.ts";
import type { Connection } from "../../../net/connection/mod.ts";
import { errorResponse, type HttpError } from "../../../common/http_error.ts";
import type { Origin } from "../../../net/forwarded.ts";
import { checkFieldLines, FieldSyntaxError } from "../../../net/http1/mod.ts";
import { type Exchange, sendResponse } from "../../../net/listener/mod.ts";
import { yieldToEventLoop } from "../../../common/event_loop.ts";
import { type RequestStream, ResetReason, StreamEnded, type StreamHandler } from "../../../protocol/mod.ts";
import type { SessionHandle } from "../../cluster/mod.ts";
import { FieldEdits } from "./edits.ts";
import { expectsContinue, ResponseBlock } from "./heads.ts";
import { badResponse, fromReset } from "../errors.ts";
import type { Endpoint, Visit } from "../tunnel/endpoint.ts";
import { OutQueue } from "./out_queue.ts";

/** A tunnel's public address, from a Host header. */
export interface TunnelHost {
  /** The tunnel's kind, from the domain. */
  readonly kind: "ephemeral" | "persistent";
  /** The part before the domain, in lower case; "" if no tunnel can have it. */
  readonly label: string;
}

/** The response block that is being handled. All visitors share it, because each use ends before the next begins. */
const block = new ResponseBlock();

/**
 * One visitor's request. Gates see it as a {@link Visit}. Afterwards it handles the request's stream: it sends the body
 * and writes the response to the exchange.
 */
export class Visitor implements Visit, StreamHandler {
  readonly exchange: Exchange;
  /** The requested tunnel's address. */
  readonly host: TunnelHost;
  /** Set by the route phase, like {@link endpoint}. */
  visitor!: Origin;
  endpoint!: Endpoint;
  /** Set by the connect phase. */
  session!: SessionHandle;
  wasHeld = false;
  /** Set by the request phase. */
  stream!: RequestStream;
  /** The header fields that gates changed, or null. */
  edits: FieldEdits | null = null;
  #listeners: (() => void)[] | null = null;
  /** Response bytes that the visitor has not taken yet. Null until a streamed response begins. */
  #out: OutQueue | null = null;
  #upgraded: Connection | null = null;
  /** Directions in which the upgraded connection is still open. */
  #directions = 2;
  #isOver = false;
  /** Runs while the service may still respond before the body is sent. */
  #continueTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(exchange: Exchange, host: TunnelHost) {
    this.exchange = exchange;
    this.host = host;
  }

  setField(name: string, value: string | null): void {
    (this.edits ??= new FieldEdits()).set(name, value);
  }

  onEnd(listener: () => void): void {
    (this.#listeners ??= []).push(listener);
  }

  /** Whether {@link end} has listeners to call. */
  get hasListeners(): boolean {
    return this.#listeners !== null;
  }

  /** Calls the {@link onEnd} listeners, once. */
  end(): void {
    const listeners = this.#listeners ?? [];
    this.#listeners = null;
    for (const listener of listeners) listener();
  }

  /** Sends the request's body on the stream. The response is written as it arrives. */
  start(): void {
    const exchange = this.exchange;
    exchange.onLeave = () => this.#breakOff("the visitor left");
    if (!exchange.hasBody) return;
    if (expectsContinue(exchange)) this.#continueTimer = setTimeout(() => this.#continue(), CONTINUE_MS);
    else void this.#sendBody();
  }

  /** Sends the body, which asks a visitor that waits for `100 Continue` for it. */
  #continue(): void {
    if (this.#continueTimer === undefined) return;
    this.#dropBody();
    void this.#sendBody();
  }

  /** The service responded, or the stream ended, before the body was wanted. */
  #dropBody(): void {
    clearTimeout(this.#continueTimer);
    this.#continueTimer = undefined;
  }

  onInterim(status: number, frame: Uint8Array, start: number, end: number): void {
    this.endpoint.meter(end - start);
    if (status === CONTINUE) return this.#continue();
    if (!this.#isOver && this.#readBlock(status, frame, start, end)) {
      this.exchange.response.inform(status, block.bytes);
    }
  }

  onResponse(
    status: number,
    frame: Uint8Array,
    start: number,
    blockEnd: number,
    payloadEnd: number,
    end: boolean,
  ): void {
    this.endpoint.meter(payloadEnd - start);
    this.#dropBody();
    // The count may have ended the session, and the visitor then has an error.
    if (this.#isOver || !this.#readBlock(status, frame, start, blockEnd)) return;
    if (status === SWITCHING_PROTOCOLS) return this.#upgrade(frame.subarray(blockEnd, payloadEnd), end);
    const { response, method } = this.exchange;
    const size = payloadEnd - blockEnd;
    const isBodiless = method === "HEAD" || status === 204 || status === 304;
    if (block.length < 0 && end && !isBodiless) block.addLength(size);
    this.#isOver = end;
    // The exchange may be reused after a complete response, so nothing may use it afterwards.
    response.begin(
      status,
      block.bytes,
      block.length < 0 ? null : block.length,
      frame.subarray(blockEnd, payloadEnd),
      end,
    );
    if (end) return this.stream.consumed(size);
    this.#out = new OutQueue(
      (bytes, isLast) => response.write(bytes, isLast),
      (bytes) => this.stream.consumed(bytes),
      () => this.stream.reset(ResetReason.cancelled, "the visitor left"),
    );
    if (block.length > 0) this.stream.expect(block.length);
    if (size > 0) this.stream.consumed(size);
  }

  onData(piece: Uint8Array, end: boolean): void {
    this.endpoint.meter(piece.length);
    if (this.#out === null) return this.#breakOff("a body where the response can have none");
    this.#isOver ||= end && this.#upgraded === null;
    this.#out.push(piece, end);
  }

  onTrailers(frame: Uint8Array, start: number, end: number): void {
    this.endpoint.meter(end - start);
    const trailers = frame.slice(start, end);
    try {
      checkFieldLines(trailers, 0, trailers.length);
    } catch (error) {
      if (!(error instanceof FieldSyntaxError)) throw error;
      return this.#breakOff("malformed trailers");
    }
    this.#isOver = true;
    this.#out?.finish(() => this.exchange.response.end(trailers));
  }

  onReset(reason: ResetReason, text: string): void {
    this.#dropBody();
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#out !== null) {
      this.#out.drop();
      this.stream.reset(reason);
    }
    this.#upgraded?.close();
    const { response } = this.exchange;
    if (this.#upgraded !== null) return;
    if (response.begun) return response.cut();
    // The session also ends when the tunnel reaches its traffic limit or expires.
    const closure = reason === ResetReason.sessionLost ? this.endpoint.findClosure() : null;
    this.#refuse(closure?.refuse() ?? fromReset(reason, text));
  }

  /** Checks a response head and reads it into {@link block}. Returns whether it can be forwarded. */
  #readBlock(status: number, frame: Uint8Array, start: number, end: number): boolean {
    try {
      if (status < 100 || status > 599) throw new FieldSyntaxError(`status ${status}`);
      block.read(status, frame, start, end);
      return true;
    } catch (error) {
      if (!(error instanceof FieldSyntaxError)) throw error;
      this.#isOver = true;
      this.stream.reset(ResetReason.cancelled);
      this.#refuse(badResponse("Its head is malformed."));
      return false;
    }
  }

  /** Takes the connection over: both directions carry bytes, and each has its own end. */
  #upgrade(early: Uint8Array, end: boolean): void {
    const connection = this.#upgraded = this.exchange.response.switchProtocols(block.bytes);
    const write = async (bytes: Uint8Array, isLast: boolean) => {
      if (bytes.length > 0) await connection.write(bytes);
      if (!isLast) return;
      await connection.closeWrite();
      this.#endUpgraded();
    };
    this.#out = new OutQueue(write, (bytes) => this.stream.consumed(bytes), () => this.#breakOff("the visitor left"));
    if (early.length > 0 || end) this.#out.push(early, end);
    void this.#sendUpgraded(connection);
  }

  /** Sends the bytes that an upgraded visitor writes. The buffer grows with the reads. */
  async #sendUpgraded(connection: Connection): Promise<void> {
    let memory = acquireBuffer(SMALL);
    try {
      for (;;) {
        const count = await connection.read(memory);
        if (count === null) break;
        this.endpoint.meter(count);
        const sent = this.stream.send(memory, 0, count);
        if (sent < count) await this.stream.write(memory.subarray(sent, count));
        // Wait for one event loop iteration: a larger read costs less than two small ones.
        if (count < SMALL) await yieldToEventLoop();
        if (count < memory.length || memory.length === LARGE) continue;
        releaseBuffer(memory);
        memory = acquireBuffer(memory.length === SMALL ? MEDIUM : LARGE);
      }
      this.stream.end();
      this.#endUpgraded();
    } catch (error) {
      if (!(error instanceof StreamEnded)) this.#breakOff("the visitor left");
    } finally {
      releaseBuffer(memory);
    }
  }

  /** Counts a direction that ended, after its last byte was written. The second end closes the connection. */
  #endUpgraded(): void {
    if (--this.#directions > 0) return;
    this.#isOver = true;
    this.#upgraded?.close();
  }

  /** Sends the request's body as it arrives. A visitor who disconnects ends the stream. */
  async #sendBody(): Promise<void> {
    const exchange = this.exchange, stream = this.stream;
    try {
      for (;;) {
        const piece = await exchange.readBody();
        if (piece === null) return stream.end(exchange.trailers);
        this.endpoint.meter(piece.length);
        await stream.write(piece);
      }
    } catch (error) {
      if (!(error instanceof StreamEnded)) this.#breakOff("the visitor left");
    }
  }

  #refuse(error: HttpError): void {
    void sendResponse(this.exchange, errorResponse(error, this.exchange.header("accept")));
  }

  /** Resets the stream and handles the reset on this side too, since the mux reports only the peer's resets. */
  #breakOff(text: string): void {
    this.stream.reset(ResetReason.cancelled, text);
    this.onReset(ResetReason.cancelled, text);
  }
}

const CONTINUE = 100;
/** Milliseconds for a service to respond to an expectation. Services without support for it wait for the body. */
const CONTINUE_MS = 1000;
const SWITCHING_PROTOCOLS = 101;
