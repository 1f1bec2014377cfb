import type { Exchange } from "../../../net/listener/mod.ts";
import { INLINE_BYTES } from "../../store/mod.ts";
import { announcedTooLarge, captureTooLarge, storageBusy } from "../errors.ts";
import type { Committer } from "./committer.ts";

/** Bytes in a stored chunk of a long body. */
const CHUNK_BYTES = 256 * 1024;

/** A body with its beginning in memory and the remaining chunks on the disk. */
export interface CaptureBody {
  start: Uint8Array;
  /** The id of the chunks, or null where {@link start} holds the whole body. */
  bodyId: string | null;
  size: number;
}

/** Size limit and memory accounting for bodies. */
export interface BodyReaderOptions {
  committer: Committer;
  held: HeldBytes;
  maxBytes: number;
  now(): number;
}

/**
 * Checks the announced length before the body is read.
 * @throws HttpError 417 for a client that waits for `100 Continue`, else 413
 */
export function checkAnnounced(exchange: Exchange, maxBytes: number): void {
  if (!exchange.hasBody) return;
  const announced = Number(exchange.header("content-length") ?? 0);
  if (announced <= maxBytes) return;
  throw exchange.header("expect") === null ? captureTooLarge(maxBytes) : announcedTooLarge(maxBytes, announced);
}

/** Reads a body with bounded memory: everything behind its beginning goes to the disk. */
export class BodyReader {
  readonly #options: BodyReaderOptions;
  #start: Uint8Array<ArrayBuffer> = NOTHING;
  #size = 0;
  #chunk: Uint8Array<ArrayBuffer> | null = null;
  #chunkEnd = 0;
  #chunks = 0;
  #begunAt = 0;
  #bodyId: string | null = null;
  #held = 0;

  constructor(options: BodyReaderOptions) {
    this.#options = options;
  }

  /** The id of chunks already on the disk. */
  get bodyId(): string | null {
    return this.#bodyId;
  }

  /**
   * Reads to the end.
   * @throws BodyCut when the client disconnects, HttpError 413 for a body that is too long, 503 while the disk is busy,
   * and errors from the store
   */
  async read(exchange: Exchange): Promise<CaptureBody> {
    const { maxBytes } = this.#options;
    for (let read = await exchange.readBody(); read !== null; read = await exchange.readBody()) {
      if (this.#size + read.length > maxBytes) throw captureTooLarge(maxBytes);
      const rest = this.#size < INLINE_BYTES ? this.#fillStart(read) : read;
      this.#size += read.length;
      if (rest.length > 0) await this.#fillChunks(rest);
    }
    if (this.#chunkEnd > 0) await this.#keepChunk();
    return { start: this.#start, bodyId: this.#bodyId, size: this.#size };
  }

  /** Releases the memory. */
  release(): void {
    this.#options.held.give(this.#held);
    this.#held = 0;
    this.#chunk = null;
  }

  /** Takes bytes for the beginning and returns the remaining ones. */
  #fillStart(read: Uint8Array): Uint8Array {
    const taken = read.subarray(0, INLINE_BYTES - this.#size);
    this.#hold(taken.length);
    const start = new Uint8Array(this.#size + taken.length);
    start.set(this.#start);
    start.set(taken, this.#size);
    this.#start = start;
    return read.subarray(taken.length);
  }

  async #fillChunks(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      if (this.#chunk === null) this.#hold(CHUNK_BYTES);
      const chunk = this.#chunk ??= new Uint8Array(CHUNK_BYTES);
      const taken = bytes.subarray(at, at + CHUNK_BYTES - this.#chunkEnd);
      chunk.set(taken, this.#chunkEnd);
      this.#chunkEnd += taken.length;
      at += taken.length;
      if (this.#chunkEnd === CHUNK_BYTES) await this.#keepChunk();
    }
  }

  /** Stores a chunk. The client waits: the next read from the socket follows the commit. */
  async #keepChunk(): Promise<void> {
    const bytes = this.#chunk?.subarray(0, this.#chunkEnd) ?? NOTHING;
    this.#chunkEnd = 0;
    if (this.#bodyId === null) {
      this.#bodyId = crypto.randomUUID();
      this.#begunAt = this.#options.now();
    }
    const number = this.#chunks++;
    await this.#options.committer.keepChunk({ bodyId: this.#bodyId, number, bytes, begunAt: this.#begunAt });
  }

  #hold(bytes: number): void {
    this.#options.held.take(bytes);
    this.#held += bytes;
  }
}

const NOTHING = new Uint8Array(0);

/** Counts the bytes that all calls hold in memory while the disk is busy. */
export class HeldBytes {
  readonly #max: number;
  #held = 0;

  /** @param max bytes that may be held */
  constructor(max: number) {
    this.#max = max;
  }

  /** Reserves memory. @throws HttpError 503 at the limit */
  take(bytes: number): void {
    if (this.#held + bytes > this.#max) throw storageBusy();
    this.#held += bytes;
  }

  /** Releases memory. */
  give(bytes: number): void {
    this.#held -= bytes;
  }

  get count(): number {
    return this.#held;
  }
}
