import { acquireBuffer, MEDIUM, releaseBuffer } from "../../common/buffers/buffer_pool.ts";

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
