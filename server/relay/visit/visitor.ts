import { acquireBuffer, LARGE, MEDIUM, releaseBuffer, SMALL } from "../../../common/buffers/buffer_pool.ts";
import type { Connection } from "../../../net/connection/mod.ts";
import type { HttpError } from "../../../common/http_error.ts";
import { checkFieldLines, FieldSyntaxError } from "../../../net/http1/mod.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import { PieceQueue } from "../../../net/body/chunk_queue.ts";
import { yieldToEventLoop } from "../../../common/event_loop.ts";
import { type RequestStream, ResetReason, StreamEnded, type StreamHandler } from "../../../protocol/mod.ts";
import { ResponseBlock } from "./heads.ts";
import { badResponse, fromReset } from "../errors.ts";

/** What a tunnel has for its visitors. */
export interface Meter {
  /** Counts bytes carried, in either direction. */
  meter(bytes: number): void;
  /** Why no visitor may pass any more, or null. */
  gate(): HttpError | null;
}

/** The block of the answer that is being handled: what is done with it is done at once. */
const block = new ResponseBlock();

/** One visitor's request on its way through a session: its body goes in, the answer comes out as the bytes it has. */
export class Visitor implements StreamHandler {
  readonly #exchange: Exchange;
  readonly #meter: Meter;
  readonly #refuse: (exchange: Exchange, error: HttpError) => void;
  #stream!: RequestStream;
  /** What waits to be taken by the visitor, once the answer has begun and goes on. */
  #out: OutQueue | null = null;
  #upgraded: Connection | null = null;
  /** Of the upgraded connection, that have not ended. */
  #directions = 2;
  #isOver = false;

  /** @param refuse answers with an error of ours */
  constructor(exchange: Exchange, meter: Meter, refuse: (exchange: Exchange, error: HttpError) => void) {
    this.#exchange = exchange;
    this.#meter = meter;
    this.#refuse = refuse;
  }

  /** Takes the stream that was opened for this visitor, and sends the request's body on it. */
  start(stream: RequestStream): void {
    this.#stream = stream;
    const exchange = this.#exchange;
    exchange.onLeave = () => this.#breakOff("the visitor left");
    if (exchange.hasBody) void this.#sendBody();
  }

  onInterim(status: number, frame: Uint8Array, start: number, end: number): void {
    this.#meter.meter(end - start);
    if (!this.#isOver && this.#readBlock(status, frame, start, end)) {
      this.#exchange.response.inform(status, block.bytes);
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
    this.#meter.meter(payloadEnd - start);
    // Counting may have ended the session, and the visitor has been told.
    if (this.#isOver || !this.#readBlock(status, frame, start, blockEnd)) return;
    if (status === SWITCHING_PROTOCOLS) return this.#upgrade(frame.subarray(blockEnd, payloadEnd), end);
    const { response, method } = this.#exchange;
    const size = payloadEnd - blockEnd;
    const isBodiless = method === "HEAD" || status === 204 || status === 304;
    if (block.length < 0 && end && !isBodiless) block.addLength(size);
    this.#isOver = end;
    // What is left of the request is nobody's, and the stream with it where nothing more is to come.
    response.begin(
      status,
      block.bytes,
      block.length < 0 ? null : block.length,
      frame.subarray(blockEnd, payloadEnd),
      end,
    );
    if (end) return this.#stream.consumed(size);
    this.#out = new OutQueue(
      (bytes, isLast) => response.write(bytes, isLast),
      (bytes) => this.#stream.consumed(bytes),
      () => this.#stream.reset(ResetReason.cancelled, "the visitor left"),
    );
    if (block.length > 0) this.#stream.expect(block.length);
    if (size > 0) this.#stream.consumed(size);
  }

  onData(piece: Uint8Array, end: boolean): void {
    this.#meter.meter(piece.length);
    if (this.#out === null) return this.#breakOff("a body where the answer can have none");
    this.#isOver ||= end && this.#upgraded === null;
    this.#out.push(piece, end);
  }

  onTrailers(frame: Uint8Array, start: number, end: number): void {
    this.#meter.meter(end - start);
    const trailers = frame.slice(start, end);
    try {
      checkFieldLines(trailers, 0, trailers.length);
    } catch (error) {
      if (!(error instanceof FieldSyntaxError)) throw error;
      return this.#breakOff("malformed trailers");
    }
    this.#isOver = true;
    this.#out?.finish(() => this.#exchange.response.end(trailers));
  }

  onReset(reason: ResetReason, text: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#out !== null) {
      this.#out.drop();
      this.#stream.reset(reason);
    }
    this.#upgraded?.close();
    const { response } = this.#exchange;
    if (this.#upgraded !== null) return;
    if (response.begun) return response.cut();
    // A session is also lost when the tunnel's traffic or time runs out.
    const over = reason === ResetReason.sessionLost ? this.#meter.gate() : null;
    this.#refuse(this.#exchange, over ?? fromReset(reason, text));
  }

  /** Checks the head of an answer, and reads it into {@link block}. Says whether it can be passed on. */
  #readBlock(status: number, frame: Uint8Array, start: number, end: number): boolean {
    try {
      if (status < 100 || status > 599) throw new FieldSyntaxError(`status ${status}`);
      block.read(status, frame, start, end);
      return true;
    } catch (error) {
      if (!(error instanceof FieldSyntaxError)) throw error;
      this.#isOver = true;
      this.#stream.reset(ResetReason.cancelled);
      this.#refuse(this.#exchange, badResponse("Its head is malformed."));
      return false;
    }
  }

  /** Both directions are bytes from here on, each with an end of its own. */
  #upgrade(early: Uint8Array, end: boolean): void {
    const connection = this.#upgraded = this.#exchange.response.switchProtocols(block.bytes);
    const write = async (bytes: Uint8Array, isLast: boolean) => {
      if (bytes.length > 0) await connection.write(bytes);
      if (!isLast) return;
      await connection.closeWrite();
      this.#endUpgraded();
    };
    this.#out = new OutQueue(write, (bytes) => this.#stream.consumed(bytes), () => this.#breakOff("the visitor left"));
    if (early.length > 0 || end) this.#out.push(early, end);
    void this.#sendUpgraded(connection);
  }

  /** Sends what the visitor says through an upgrade. Memory follows what they say at a time. */
  async #sendUpgraded(connection: Connection): Promise<void> {
    let memory = acquireBuffer(SMALL);
    try {
      for (;;) {
        const count = await connection.read(memory);
        if (count === null) break;
        this.#meter.meter(count);
        const sent = this.#stream.send(memory, 0, count);
        if (sent < count) await this.#stream.write(memory.subarray(sent, count));
        // What more comes while this leaves is read at once: a read costs more than the message it brings.
        if (count < SMALL) await yieldToEventLoop();
        if (count < memory.length || memory.length === LARGE) continue;
        releaseBuffer(memory);
        memory = acquireBuffer(memory.length === SMALL ? MEDIUM : LARGE);
      }
      this.#stream.end();
      this.#endUpgraded();
    } catch (error) {
      if (!(error instanceof StreamEnded)) this.#breakOff("the visitor left");
    } finally {
      releaseBuffer(memory);
    }
  }

  /** One direction of an upgrade has ended, with all that was said in it: the visitor may be slower than the stream. */
  #endUpgraded(): void {
    if (--this.#directions > 0) return;
    this.#isOver = true;
    this.#upgraded?.close();
  }

  /** Sends the request's body as it arrives. A visitor who leaves in the middle ends the stream. */
  async #sendBody(): Promise<void> {
    const exchange = this.#exchange, stream = this.#stream;
    try {
      for (;;) {
        const piece = await exchange.readBody();
        if (piece === null) return stream.end(exchange.trailers);
        this.#meter.meter(piece.length);
        await stream.write(piece);
      }
    } catch (error) {
      if (!(error instanceof StreamEnded)) this.#breakOff("the visitor left");
    }
  }

  /** Ends the stream from here, where nobody else tells this side of it. */
  #breakOff(text: string): void {
    this.#stream.reset(ResetReason.cancelled, text);
    this.onReset(ResetReason.cancelled, text);
  }
}

const SWITCHING_PROTOCOLS = 101;

/**
 * Bytes on their way to one visitor: copied from the session's memory, gathered while a write is under way, and told of
 * when they have been taken. The stream's credit bounds how many they can be.
 */
export class OutQueue {
  readonly #write: (bytes: Uint8Array, isLast: boolean) => Promise<void>;
  readonly #taken: (bytes: number) => void;
  readonly #failed: () => void;
  readonly #waiting = new PieceQueue();
  #isWriting = false;
  #isEnded = false;
  #isDropped = false;
  #finished: (() => void) | null = null;

  /**
   * @param write one call at a time
   * @param taken told how many bytes a write has taken
   * @param failed told when a write rejects
   */
  constructor(
    write: (bytes: Uint8Array, isLast: boolean) => Promise<void>,
    taken: (bytes: number) => void,
    failed: () => void = () => {},
  ) {
    this.#write = write;
    this.#taken = taken;
    this.#failed = failed;
  }

  /** Adds a piece, which is copied; `end` makes it the last. */
  push(piece: Uint8Array, end: boolean): void {
    if (this.#isDropped) return;
    this.#waiting.push(piece);
    this.#isEnded ||= end;
    this.#runSoon();
  }

  /** Calls `finished` once all has been written, instead of a last piece. */
  finish(finished: () => void): void {
    this.#finished = finished;
    if (this.#isWriting) return;
    this.#isWriting = true;
    void this.#run();
  }

  /** Nothing more will be written. */
  drop(): void {
    this.#isDropped = true;
    this.#waiting.drop();
  }

  /** Pieces that came in one message of the session leave in one write. */
  #runSoon(): void {
    if (this.#isWriting) return;
    this.#isWriting = true;
    queueMicrotask(this.#run);
  }

  readonly #run = async (): Promise<void> => {
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        const { bytes, used } = next;
        await this.#write(bytes.subarray(0, used), this.#isEnded && this.#waiting.size === 0 && this.#closeEnd());
        releaseBuffer(bytes);
        this.#taken(used);
      }
      if (this.#isDropped) return;
      if (this.#isEnded && this.#closeEnd()) await this.#write(NOTHING, true);
      this.#finished?.();
      this.#finished = null;
    } catch {
      this.drop();
      this.#failed();
    } finally {
      this.#isWriting = false;
    }
  };

  /** The end is told with the write that is made now. */
  #closeEnd(): boolean {
    this.#isEnded = false;
    return true;
  }
}

const NOTHING = new Uint8Array(0);
