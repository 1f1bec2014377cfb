import type { Exchange } from "../../../net/listener/mod.ts";
import { INLINE_BYTES } from "../../store/mod.ts";
import { announcedTooLarge, captureTooLarge, storageBusy } from "../errors.ts";
import type { Committer } from "./committer.ts";

/** Bytes of a long body that are kept in one go. */
const PIECE_BYTES = 256 * 1024;

/** A body, with its beginning in memory and the rest on the disk. */
export interface CaptureBody {
  start: Uint8Array;
  /** Of the pieces of the rest, or null where all is in {@link start}. */
  bodyId: string | null;
  size: number;
}

/** How much of a body is taken, and who counts the memory for it. */
export interface BodyReaderOptions {
  committer: Committer;
  held: HeldBytes;
  maxBytes: number;
  now(): number;
}

/**
 * Before a body is asked for: whether it was announced as larger than is taken.
 * @throws HttpError 417 for who waits to be told, else 413
 */
export function checkAnnounced(exchange: Exchange, maxBytes: number): void {
  if (!exchange.hasBody) return;
  const announced = Number(exchange.header("content-length") ?? 0);
  if (announced <= maxBytes) return;
  throw exchange.header("expect") === null ? captureTooLarge(maxBytes) : announcedTooLarge(maxBytes, announced);
}

/** Reads one body, whose memory is bounded however long it is: what is behind its beginning goes to the disk. */
export class BodyReader {
  readonly #options: BodyReaderOptions;
  #start: Uint8Array<ArrayBuffer> = NOTHING;
  #size = 0;
  #piece: Uint8Array<ArrayBuffer> | null = null;
  #pieceEnd = 0;
  #pieces = 0;
  #begunAt = 0;
  #bodyId: string | null = null;
  #held = 0;

  constructor(options: BodyReaderOptions) {
    this.#options = options;
  }

  /** Of the pieces that are on the disk already. */
  get bodyId(): string | null {
    return this.#bodyId;
  }

  /**
   * Reads to the end.
   * @throws BodyCut when the visitor leaves, HttpError 413 when it gets too long, 503 when the disk is behind, and what
   * the store does
   */
  async read(exchange: Exchange): Promise<CaptureBody> {
    const { maxBytes } = this.#options;
    for (let read = await exchange.readBody(); read !== null; read = await exchange.readBody()) {
      if (this.#size + read.length > maxBytes) throw captureTooLarge(maxBytes);
      const rest = this.#size < INLINE_BYTES ? this.#fillStart(read) : read;
      this.#size += read.length;
      if (rest.length > 0) await this.#fillPieces(rest);
    }
    if (this.#pieceEnd > 0) await this.#keepPiece();
    return { start: this.#start, bodyId: this.#bodyId, size: this.#size };
  }

  /** What it has in memory is not needed any more. */
  release(): void {
    this.#options.held.give(this.#held);
    this.#held = 0;
    this.#piece = null;
  }

  /** Takes what belongs to the beginning, and returns the rest. */
  #fillStart(read: Uint8Array): Uint8Array {
    const taken = read.subarray(0, INLINE_BYTES - this.#size);
    this.#hold(taken.length);
    const start = new Uint8Array(this.#size + taken.length);
    start.set(this.#start);
    start.set(taken, this.#size);
    this.#start = start;
    return read.subarray(taken.length);
  }

  async #fillPieces(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      if (this.#piece === null) this.#hold(PIECE_BYTES);
      const piece = this.#piece ??= new Uint8Array(PIECE_BYTES);
      const taken = bytes.subarray(at, at + PIECE_BYTES - this.#pieceEnd);
      piece.set(taken, this.#pieceEnd);
      this.#pieceEnd += taken.length;
      at += taken.length;
      if (this.#pieceEnd === PIECE_BYTES) await this.#keepPiece();
    }
  }

  /** The visitor waits meanwhile: nothing more is read off the socket before this is on the disk. */
  async #keepPiece(): Promise<void> {
    const bytes = this.#piece?.subarray(0, this.#pieceEnd) ?? NOTHING;
    this.#pieceEnd = 0;
    if (this.#bodyId === null) {
      this.#bodyId = crypto.randomUUID();
      this.#begunAt = this.#options.now();
    }
    const number = this.#pieces++;
    await this.#options.committer.keepPiece({ bodyId: this.#bodyId, number, bytes, begunAt: this.#begunAt });
  }

  #hold(bytes: number): void {
    this.#options.held.take(bytes);
    this.#held += bytes;
  }
}

const NOTHING = new Uint8Array(0);

/** Counts the bytes that wait in memory for the disk, of all calls together. */
export class HeldBytes {
  readonly #max: number;
  #held = 0;

  /** @param max bytes that may wait */
  constructor(max: number) {
    this.#max = max;
  }

  /** @throws HttpError 503 where there is no room for so many more */
  take(bytes: number): void {
    if (this.#held + bytes > this.#max) throw storageBusy();
    this.#held += bytes;
  }

  /** Those need no memory any more. */
  give(bytes: number): void {
    this.#held -= bytes;
  }

  get count(): number {
    return this.#held;
  }
}
