import { type ChunkedDecoder, createChunkedDecoder } from "../../http1/mod.ts";
import type { ListenerLimits } from "../limits.ts";
import { BodyCut } from "../types.ts";
import type { EdgeConnection } from "./connection.ts";
import { giveMemory, LARGE, SMALL, takeMemory } from "../../buffer_pool.ts";

const CONTINUE = new TextEncoder().encode("HTTP/1.1 100 Continue\r\n\r\n");

/** The body of one request, read off its connection only when somebody asks for more. */
export class RequestBody {
  readonly #connection: EdgeConnection;
  readonly #decoder: ChunkedDecoder | null;
  /** Bytes still to come, where the head gave a length. */
  #left: number;
  /** Read from the socket, once what came with the head is used up: `#memory[#at, #end)` is not decoded yet. */
  #memory: Uint8Array<ArrayBuffer> | null = null;
  #at = 0;
  #end = 0;
  #awaitsContinue: boolean;
  #isOver: boolean;
  #isAbandoned = false;
  /** Its reader has been told of the end, and so is done with every piece. */
  isDrained: boolean;
  /** Memory of the last piece, which its reader may still look at. */
  #spent: Uint8Array<ArrayBuffer> | null = null;
  /** A read is under way. */
  #isWaiting = false;
  /** Seconds that were spent so, and bytes that came meanwhile. */
  #waited = 0;
  #came = 0;

  /** @param connection whose head has just been read */
  constructor(connection: EdgeConnection) {
    const { head } = connection;
    this.#connection = connection;
    this.#left = head.length;
    this.#decoder = head.framing === "chunked" ? createChunkedDecoder() : null;
    this.#isOver = this.isDrained = head.framing === "none";
    this.#awaitsContinue = head.expectation === "continue" && head.minorVersion === 1;
  }

  /** It has been read to its end. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The visitor may still wait for `100 Continue`, so that nobody knows whether a body follows. */
  get awaitsContinue(): boolean {
    return this.#awaitsContinue;
  }

  /** The trailer section, once it {@link isOver}. */
  get trailers(): Uint8Array {
    return this.#decoder?.trailers ?? NOTHING;
  }

  /** As {@link Exchange.readBody}. */
  async read(): Promise<Uint8Array | null> {
    this.#releaseSpent();
    while (!this.#isOver) {
      if (this.#isAbandoned) throw new BodyCut("the answer is complete");
      const piece = this.#takeRead();
      if (piece.length > 0) return piece;
      if (!this.#isOver) await this.#readMore();
    }
    this.isDrained = true;
    return null;
  }

  /** Nobody will ask for more. The last piece may still be on its way to somewhere: its memory is the collector's then. */
  abandon(): void {
    this.#isAbandoned = true;
    this.#spent = null;
  }

  /** What came with the head may hold the rest of it: then the connection can go on behind it. */
  skipRead(): void {
    if (this.#decoder !== null || this.#isOver || this.#left > this.#connection.rest.length) return;
    this.#connection.takeRest(this.#left);
    this.#left = 0;
    this.#isOver = true;
  }

  /** Whether {@link skipRead} would reach its end. */
  get isHere(): boolean {
    return this.#isOver || (this.#decoder === null && this.#left <= this.#connection.rest.length);
  }

  /** Asked once a second: whether less comes than from a visitor who wants to be heard. */
  isTooSlow({ bodySeconds, bodyRate }: ListenerLimits): boolean {
    if (!this.#isWaiting || ++this.#waited <= bodySeconds) return false;
    const isSlow = this.#came < bodyRate * bodySeconds;
    this.#waited = this.#came = 0;
    return isSlow;
  }

  /** The data that can be had of what has been read, maybe none. */
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
    if (this.#spent !== null) giveMemory(this.#spent);
    this.#spent = null;
  }

  /** Takes the framing off, in place. @throws BodyCut when it is malformed */
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
        // Data is never longer than its chunk, so it moves towards the start.
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
    this.#isWaiting = true;
    this.#end = await this.#connection.readBody(room);
    this.#isWaiting = false;
    this.#came += this.#end;
    // Whoever keeps a good pace has no clock on them.
    if (this.#end > SMALL) this.#waited = this.#came = 0;
  }

  /** Small bodies, of thousands of visitors maybe, get small memory; those that fill it a large one. */
  #grow(): Uint8Array<ArrayBuffer> {
    if (this.#memory === null) return this.#memory = takeMemory(SMALL);
    if (this.#end < this.#memory.length || this.#memory.length === LARGE) return this.#memory;
    giveMemory(this.#memory);
    return this.#memory = takeMemory(LARGE);
  }
}

const NOTHING = new Uint8Array(0);
