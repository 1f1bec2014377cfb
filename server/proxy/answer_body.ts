import { type ChunkedDecoder, createChunkedDecoder, type ResponseHead } from "../../protocol/mod.ts";
import type { TargetConnection } from "./target_connection.ts";

/** Bytes read at a time once a body turned out to be long. */
const BULK_BYTES = 128 * 1024;
/** From this share of a read its memory is passed on as it is; less is copied to its size. */
const PASS_ON_BYTES = BULK_BYTES / 2;

/** The target ended the connection in the middle of its answer. */
export class AnswerCut extends Error {
  override name = "AnswerCut";
}

export interface AnswerBodyOptions {
  connection: TargetConnection;
  head: ResponseHead;
  /** Called once, with whether the connection can carry another request. */
  onEnd(reusable: boolean): void;
  /** Turns what went wrong into what the reader is told. */
  explain(error: unknown): unknown;
}

/** The body of an answer, read from its connection as it is asked for. */
export class AnswerBody {
  readonly #options: AnswerBodyOptions;
  readonly #decoder: ChunkedDecoder | null;
  /** Bytes that are still to come; Infinity where only the connection's end tells. */
  #left: number;
  #isOver = false;
  #memory: Uint8Array<ArrayBuffer> | null = null;

  constructor(options: AnswerBodyOptions) {
    const { framing, length } = options.head;
    this.#options = options;
    this.#decoder = framing === "chunked" ? createChunkedDecoder() : null;
    this.#left = framing === "length" ? length : framing === "none" ? 0 : Infinity;
    if (this.#left === 0) this.#finish(options.connection.start === options.connection.end);
  }

  /** All bytes that are there, waiting for some when there are none; null at the end. Rejects when it broke off. */
  async take(): Promise<Uint8Array[] | null> {
    try {
      while (!this.#isOver) {
        const chunks = this.#accept(await this.#read());
        if (chunks.length > 0) return chunks;
      }
      return null;
    } catch (error) {
      this.#end(false);
      throw this.#options.explain(error);
    }
  }

  /** Gives the rest up. */
  cancel(): void {
    this.#end(false);
  }

  /** The bytes behind the head first, then what the connection brings. Null when the target has ended it. */
  async #read(): Promise<Uint8Array | null> {
    const { connection } = this.#options;
    if (connection.start < connection.end) {
      const bytes = connection.buffer.slice(connection.start, connection.end);
      connection.start = connection.end = 0;
      return bytes;
    }
    const memory = this.#memory ?? new Uint8Array(Math.min(BULK_BYTES, this.#left));
    const read = await connection.readInto(memory);
    const isPassedOn = read !== null && (read >= PASS_ON_BYTES || read === memory.length);
    this.#memory = isPassedOn ? null : memory;
    if (read === null) return null;
    return isPassedOn ? memory.subarray(0, read) : memory.slice(0, read);
  }

  #accept(bytes: Uint8Array | null): Uint8Array[] {
    if (bytes === null) return this.#acceptEnd();
    if (this.#decoder) return this.#decode(this.#decoder, bytes);
    const own = bytes.length > this.#left ? bytes.subarray(0, this.#left) : bytes;
    this.#left -= own.length;
    if (this.#left === 0) this.#finish(own.length === bytes.length);
    return [own];
  }

  #decode(decoder: ChunkedDecoder, bytes: Uint8Array): Uint8Array[] {
    const chunks: Uint8Array[] = [];
    const taken = decoder.push(bytes, (data) => chunks.push(data));
    if (decoder.done) this.#finish(taken === bytes.length);
    return chunks;
  }

  #acceptEnd(): Uint8Array[] {
    if (this.#options.head.framing !== "close") throw new AnswerCut("the answer was cut short");
    this.#end(false);
    return [];
  }

  /** The end of the body has been read. @param isClean nothing came behind it */
  #finish(isClean: boolean): void {
    this.#end(isClean && this.#options.head.keepAlive);
  }

  #end(reusable: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.onEnd(reusable);
  }
}
