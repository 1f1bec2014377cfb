import { checkFieldLines, dropForbiddenTrailers, FieldSyntaxError } from "../http1/mod.ts";
import { BodyLengthError, ConnectionBroken, type OutgoingFraming } from "./types.ts";
import { acquireBuffer, MEDIUM, releaseBuffer } from "../../common/buffers/buffer_pool.ts";

/** The owner of a {@link BodyWriter}. */
export interface BodyOwner {
  /** Reports sent body bytes, which frees the same number. */
  onBodyWritten(bytes: number): void;
  /** The whole body is sent. */
  onBodyComplete?(): void;
  /** No more can be sent: a write failed, or the body does not match its head. */
  onBodyFailed(error: ConnectionBroken | BodyLengthError): void;
}

/** Writes a request's head and body in order, framed as the head declares, and checks the length. */
export class BodyWriter {
  /** Whether the whole body is sent. */
  complete = false;
  readonly #owner: BodyOwner;
  readonly #chunked: boolean;
  readonly #queue: WriteQueue;
  /** Remaining body bytes; Infinity without a length. */
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

  /** Whether the end is being written: `onBodyComplete` or `onBodyFailed` follows. */
  get isLeaving(): boolean {
    return this.#ended && this.#queue.isLeaving;
  }

  /** Writes the head, and the available body bytes after it. */
  start(writer: QueueWriter, head: Uint8Array): void {
    this.#queue.start(writer, head);
  }

  /** Copies a chunk and queues it. */
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
   * Completes the body. Reports errors to the owner instead of throwing.
   * @param trailers field lines after the body; dropped if the framing does not allow them
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

/** The target for a queue. */
export interface QueueWriter {
  /** Writes all `bytes`, which do not change until it resolves. */
  write(bytes: Uint8Array): Promise<void>;
}

/** Queued bytes: `memory[0, used)`, with `credit` payload bytes. */
interface Chunk {
  memory: Uint8Array<ArrayBuffer>;
  used: number;
  credit: number;
}

/** Fits a stream's largest chunk with its framing. */
const CHUNK_SIZE = 64 * 1024 + 64;
/** Idle chunks shared by all queues in this process. */
const MAX_SPARE = 16;
const spare: Uint8Array<ArrayBuffer>[] = [];

/**
 * Writes chunks in order, one write at a time. Copies them, because their buffers are reused. Chunks that arrive during
 * a write, or in one event loop iteration, leave together.
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
   * @param onWritten receives sent payload bytes
   * @param onBroken called once, when a write fails; no writes follow
   * @param onDrained called when the queue is empty
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

  /** Starts writing: `first` if given, then the queued bytes. */
  start(writer: QueueWriter, first: Uint8Array | null = null): void {
    const early = this.#chunks;
    this.#chunks = [];
    this.#writer = writer;
    if (first !== null) this.push(first, 0);
    if (early.length === 0) return;
    this.#chunks.push(...early);
    this.#arm();
  }

  /** Whether the queue is empty and no write is pending. */
  get isEmpty(): boolean {
    return this.#chunks.length === 0 && !this.#writing;
  }

  /** Whether the last queued bytes are being written. */
  get isLeaving(): boolean {
    return this.#chunks.length === 0 && this.#writing;
  }

  /** Queues bytes; reports `credit` of them through `onWritten`. */
  push(bytes: Uint8Array, credit: number): void {
    if (this.#stopped) return;
    const chunk = this.#chunkFor(bytes.length);
    chunk.memory.set(bytes, chunk.used);
    chunk.used += bytes.length;
    chunk.credit += credit;
    this.#arm();
  }

  /** Drops queued bytes; later chunks are discarded. */
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
