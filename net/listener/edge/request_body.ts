import { type ChunkedDecoder, createChunkedDecoder } from "../../http1/mod.ts";
import { BodyPace } from "../_exchange.ts";
import type { ListenerLimits } from "../limits.ts";
import { BodyCut } from "../types.ts";
import { acquireBuffer, LARGE, releaseBuffer, SMALL } from "../../../common/buffers/buffer_pool.ts";
import type { RequestHead } from "../../http1/mod.ts";

const CONTINUE = new TextEncoder().encode("HTTP/1.1 100 Continue\r\n\r\n");

/** The connection as the body of a request on it sees it. */
export interface BodyConnection {
  /** The head that was read last. */
  readonly head: RequestHead;
  /** The bytes that came with the head and were not consumed. */
  readonly rest: Uint8Array<ArrayBuffer>;
  /** Consumes `count` bytes of {@link rest}. */
  takeRest(count: number): void;
  /** Reads more of the body. @throws BodyCut when the visitor disconnected */
  readBody(into: Uint8Array): Promise<number>;
  /**
   * The body was read to its end.
   * @param buffer of the body, if `buffer[start, end)` came after it; the connection owns it then
   */
  bodyEnded(buffer: Uint8Array<ArrayBuffer> | null, start: number, end: number): void;
  /** Writes under the stall limit. Never rejects: a failed write ends the connection. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends the connection at once. */
  close(): void;
}

/** One request's body, read from its connection on demand. */
export class RequestBody {
  readonly #connection: BodyConnection;
  readonly #decoder: ChunkedDecoder | null;
  /** Remaining bytes, if the head gave a length. */
  #left: number;
  /** Read from the socket after the bytes that came with the head: `#memory[#at, #end)` is not decoded yet. */
  #memory: Uint8Array<ArrayBuffer> | null = null;
  #at = 0;
  #end = 0;
  #awaitsContinue: boolean;
  #isOver: boolean;
  #isAbandoned = false;
  /** The last chunk's buffer, which its reader may still use. */
  #spent: Uint8Array<ArrayBuffer> | null = null;
  readonly #pace = new BodyPace();
  /** Whether a reader holds a chunk until the next call. */
  #isLent = false;

  /** @param connection whose head has just been read */
  constructor(connection: BodyConnection) {
    const { head } = connection;
    this.#connection = connection;
    this.#left = head.length;
    this.#decoder = head.framing === "chunked" ? createChunkedDecoder() : null;
    this.#isOver = head.framing === "none";
    this.#awaitsContinue = head.expectation === "continue" && head.minorVersion === 1;
  }

  /** Whether it was read to its end. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether a reader may still use the last chunk. */
  get isLent(): boolean {
    return this.#isLent;
  }

  /** Whether the visitor may still wait for `100 Continue`, so that the body is uncertain. */
  get awaitsContinue(): boolean {
    return this.#awaitsContinue;
  }

  /** The trailer section, after {@link isOver}. */
  get trailers(): Uint8Array {
    return this.#decoder?.trailers ?? NOTHING;
  }

  /** As {@link Exchange.readBody}. */
  async read(): Promise<Uint8Array | null> {
    this.#isLent = false;
    this.#releaseSpent();
    while (!this.#isOver) {
      if (this.#isAbandoned) throw new BodyCut("the answer is complete");
      const piece = this.#takeRead();
      this.#isLent = piece.length > 0;
      if (this.#isLent) return piece;
      if (!this.#isOver) await this.#readMore();
    }
    return null;
  }

  /** Stops reading. */
  abandon(): void {
    this.#isAbandoned = true;
    if (!this.#isLent) this.#releaseSpent();
  }

  /** Skips the rest of the body if it came with the head, so that another request can follow. Returns whether it did. */
  skipRead(): boolean {
    if (this.#decoder !== null || this.#isOver || this.#left > this.#connection.rest.length) return false;
    this.#connection.takeRest(this.#left);
    this.#left = 0;
    this.#isOver = true;
    return true;
  }

  /** Whether {@link skipRead} would reach its end. */
  get isHere(): boolean {
    return this.#isOver || (this.#decoder === null && this.#left <= this.#connection.rest.length);
  }

  /** Reports whether the body is too slow. Called once a second. */
  isTooSlow(limits: ListenerLimits): boolean {
    return this.#pace.isTooSlow(limits);
  }

  /** Decodes the buffered bytes into data, possibly none. */
  #takeRead(): Uint8Array {
    const { rest } = this.#connection;
    if (rest.length > 0) {
      const { piece, taken } = this.#decode(rest);
      this.#connection.takeRest(taken);
      if (this.#isOver) this.#connection.bodyEnded(null, 0, 0);
      return piece;
    }
    if (this.#memory === null || this.#at === this.#end) return NOTHING;
    const { piece, taken } = this.#decode(this.#memory.subarray(this.#at, this.#end));
    this.#at += taken;
    if (this.#isOver) this.#giveOver(this.#memory);
    return piece;
  }

  #giveOver(memory: Uint8Array<ArrayBuffer>): void {
    const hasMore = this.#at < this.#end;
    this.#memory = null;
    if (!hasMore) this.#spent = memory;
    this.#connection.bodyEnded(hasMore ? memory : null, this.#at, this.#end);
  }

  #releaseSpent(): void {
    if (this.#spent !== null) releaseBuffer(this.#spent);
    this.#spent = null;
  }

  /** Removes the framing in place. @throws BodyCut for malformed framing */
  #decode(bytes: Uint8Array): { piece: Uint8Array; taken: number } {
    this.#awaitsContinue = false;
    if (this.#decoder === null) {
      const taken = Math.min(bytes.length, this.#left);
      this.#left -= taken;
      this.#isOver = this.#left === 0;
      return { piece: taken === bytes.length ? bytes : bytes.subarray(0, taken), taken };
    }
    let gathered = 0;
    try {
      const taken = this.#decoder.push(bytes, (data) => {
        // Data is shorter than its chunk, so it moves towards the start.
        if (data.byteOffset !== bytes.byteOffset + gathered) bytes.set(data, gathered);
        gathered += data.length;
      });
      this.#isOver = this.#decoder.done;
      return { piece: bytes.subarray(0, gathered), taken };
    } catch (cause) {
      this.#connection.close();
      throw new BodyCut("the body is malformed", { cause });
    }
  }

  async #readMore(): Promise<void> {
    if (this.#awaitsContinue) {
      this.#awaitsContinue = false;
      await this.#connection.write(CONTINUE);
    }
    const memory = this.#grow();
    const room = this.#decoder === null && this.#left < memory.length ? memory.subarray(0, this.#left) : memory;
    this.#at = this.#end = 0;
    this.#pace.wait();
    this.#end = await this.#connection.readBody(room);
    this.#pace.came(this.#end);
  }

  /** Small bodies get a small buffer, because thousands may exist; full ones get a large buffer. */
  #grow(): Uint8Array<ArrayBuffer> {
    if (this.#memory === null) return this.#memory = acquireBuffer(SMALL);
    if (this.#end < this.#memory.length || this.#memory.length === LARGE) return this.#memory;
    releaseBuffer(this.#memory);
    return this.#memory = acquireBuffer(LARGE);
  }
}

const NOTHING = new Uint8Array(0);
