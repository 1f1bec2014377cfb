import { checkFieldLines, dropForbiddenTrailers, FieldSyntaxError } from "../http1/mod.ts";
import { BodyLengthError, ConnectionBroken, type OutgoingFraming } from "./types.ts";
import { acquireBuffer, MEDIUM, releaseBuffer } from "../../common/buffers/buffer_pool.ts";

/** Whoever a {@link BodyWriter} works for. */
export interface BodyOwner {
  /** So many bytes of the body have left: there may be as many more. */
  onBodyWritten(bytes: number): void;
  /** The body has been written to its end. */
  onBodyComplete?(): void;
  /** Nothing more can be sent: a write failed, or the body is not what the head said. */
  onBodyFailed(error: ConnectionBroken | BodyLengthError): void;
}

/** Writes a request's head and its body, piece by piece and in order, framed as the head says and held to its length. */
export class BodyWriter {
  /** The body has been written to its end. */
  complete = false;
  readonly #owner: BodyOwner;
  readonly #chunked: boolean;
  readonly #queue: WriteQueue;
  /** Bytes that the body still has; Infinity where it has no length. */
  #left: number;
  #ended = false;

  constructor(framing: OutgoingFraming, owner: BodyOwner) {
    this.#owner = owner;
    this.#chunked = framing === "chunked";
    this.#left = framing === "chunked" ? Infinity : framing === "none" ? 0 : framing.length;
    this.#queue = new WriteQueue(
      (bytes) => owner.onBodyWritten(bytes),
      (cause) => owner.onBodyFailed(new ConnectionBroken("the connection broke", { cause })),
      () => this.#onDrained(),
    );
  }

  /** Its end is being written: `onBodyComplete`, or `onBodyFailed`, comes as soon as that is done. */
  get isLeaving(): boolean {
    return this.#ended && this.#queue.isLeaving;
  }

  /** Writes the head, and what there is of the body behind it. */
  start(writer: QueueWriter, head: Uint8Array): void {
    this.#queue.start(writer, head);
  }

  /** Takes a piece, which is copied. */
  push(piece: Uint8Array): void {
    if (piece.length === 0) return;
    this.#left -= piece.length;
    if (this.#left < 0) {
      return this.#owner.onBodyFailed(new BodyLengthError("the body is longer than its Content-Length"));
    }
    if (this.#chunked) this.#queue.push(ENCODER.encode(`${piece.length.toString(16)}\r\n`), 0);
    this.#queue.push(piece, piece.length);
    if (this.#chunked) this.#queue.push(LINE_END, 0);
  }

  /**
   * The body is complete. What is wrong with it is told to the owner, and not thrown.
   * @param trailers field lines that follow it: where the framing has no place for them they end here
   */
  finish(trailers: Uint8Array = NOTHING): void {
    if (!this.#chunked && this.#left > 0) {
      return this.#owner.onBodyFailed(new BodyLengthError("the body is shorter than its Content-Length"));
    }
    if (!isWellFormed(trailers)) return this.#owner.onBodyFailed(new BodyLengthError("malformed trailers"));
    this.#ended = true;
    if (this.#chunked) {
      this.#queue.push(LAST_CHUNK, 0);
      this.#queue.push(dropForbiddenTrailers(trailers), 0);
      this.#queue.push(LINE_END, 0);
    } else if (this.#queue.isEmpty) this.#onDrained();
  }

  #onDrained(): void {
    if (!this.#ended) return;
    this.complete = true;
    this.#owner.onBodyComplete?.();
  }
}

function isWellFormed(trailers: Uint8Array): boolean {
  try {
    checkFieldLines(trailers, 0, trailers.length);
    return true;
  } catch (error) {
    if (error instanceof FieldSyntaxError) return false;
    throw error;
  }
}

const ENCODER = new TextEncoder();
const NOTHING = new Uint8Array(0);
const LINE_END = ENCODER.encode("\r\n");
const LAST_CHUNK = ENCODER.encode("0\r\n");

/** What a queue writes to. */
export interface QueueWriter {
  /** Writes all of `bytes`, which do not change until it resolves. */
  write(bytes: Uint8Array): Promise<void>;
}

/** Bytes that wait for their turn: `memory[0, used)`, of which `credit` are somebody's payload. */
interface Chunk {
  memory: Uint8Array<ArrayBuffer>;
  used: number;
  credit: number;
}

/** Holds the largest piece of a stream with its framing. */
const CHUNK_SIZE = 64 * 1024 + 64;
/** Idle chunks kept for all queues of this process. */
const MAX_SPARE = 16;
const spare: Uint8Array<ArrayBuffer>[] = [];

/**
 * Writes what comes in pieces, in order and one write at a time. Pieces are copied, as their memory is not theirs for
 * long, and those that come while a write is under way, or in one turn, leave in one.
 */
export class WriteQueue {
  #writer: QueueWriter | null = null;
  readonly #onWritten: (credit: number) => void;
  readonly #onBroken: (error: unknown) => void;
  readonly #onDrained: () => void;
  #chunks: Chunk[] = [];
  #writing = false;
  #armed = false;
  #stopped = false;

  /**
   * @param onWritten told how many payload bytes have left
   * @param onBroken told once, when a write fails; nothing is written after it
   * @param onDrained told when nothing waits any more
   */
  constructor(
    onWritten: (credit: number) => void,
    onBroken: (error: unknown) => void,
    onDrained: () => void,
  ) {
    this.#onWritten = onWritten;
    this.#onBroken = onBroken;
    this.#onDrained = onDrained;
  }

  /** Begins to write: `first` if given, and behind it what has been taken so far. */
  start(writer: QueueWriter, first: Uint8Array | null = null): void {
    const early = this.#chunks;
    this.#chunks = [];
    this.#writer = writer;
    if (first !== null) this.push(first, 0);
    if (early.length === 0) return;
    this.#chunks.push(...early);
    this.#arm();
  }

  /** Whether nothing waits and nothing is being written. */
  get isEmpty(): boolean {
    return this.#chunks.length === 0 && !this.#writing;
  }

  /** Whether the last of what was taken is being written. */
  get isLeaving(): boolean {
    return this.#chunks.length === 0 && this.#writing;
  }

  /** Takes bytes; `credit` of them are told to `onWritten`. */
  push(bytes: Uint8Array, credit: number): void {
    if (this.#stopped) return;
    const chunk = this.#chunkFor(bytes.length);
    chunk.memory.set(bytes, chunk.used);
    chunk.used += bytes.length;
    chunk.credit += credit;
    this.#arm();
  }

  /** Drops what waits; later pieces go nowhere. */
  stop(): void {
    this.#stopped = true;
    this.#chunks = [];
  }

  #arm(): void {
    if (this.#writer === null || this.#writing || this.#armed) return;
    this.#armed = true;
    queueMicrotask(this.#drain);
  }

  #chunkFor(size: number): Chunk {
    const last = this.#chunks.at(-1);
    if (last !== undefined && last.used + size <= last.memory.length) return last;
    const isSmall = last === undefined && size <= MEDIUM / 4;
    const memory = isSmall
      ? acquireBuffer(MEDIUM)
      : (size <= CHUNK_SIZE ? spare.pop() : undefined) ?? new Uint8Array(Math.max(size, CHUNK_SIZE));
    const chunk = { memory, used: 0, credit: 0 };
    this.#chunks.push(chunk);
    return chunk;
  }

  readonly #drain = (): void => {
    this.#armed = false;
    const chunk = this.#chunks.shift();
    if (chunk === undefined || this.#writer === null) return this.#onDrained();
    this.#writing = true;
    this.#writer.write(chunk.memory.subarray(0, chunk.used)).then(() => {
      this.#writing = false;
      if (chunk.memory.length === MEDIUM) releaseBuffer(chunk.memory);
      else if (chunk.memory.length === CHUNK_SIZE && spare.length < MAX_SPARE) spare.push(chunk.memory);
      if (this.#stopped) return;
      if (chunk.credit > 0) this.#onWritten(chunk.credit);
      this.#drain();
    }, (error) => {
      this.#writing = false;
      this.stop();
      this.#onBroken(error);
    });
  };
}
