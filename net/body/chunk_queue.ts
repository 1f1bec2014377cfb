import { acquireBuffer, LARGE, releaseBuffer, SMALL } from "../../common/buffers/buffer_pool.ts";

/** A pool buffer with the content `bytes[0, used)`. The caller releases it. */
export interface Piece {
  bytes: Uint8Array<ArrayBuffer>;
  used: number;
}

/** A queue of copied bytes. Many small chunks share a few buffers. */
export class PieceQueue {
  readonly #pieces: Piece[] = [];
  #size = 0;

  /** Queued bytes. */
  get size(): number {
    return this.#size;
  }

  /** Adds a copy at the end. */
  push(piece: Uint8Array): void {
    if (piece.length === 0) return;
    this.#size += piece.length;
    const last = this.#pieces.at(-1);
    if (last !== undefined && last.bytes.length - last.used >= piece.length) {
      last.bytes.set(piece, last.used);
      last.used += piece.length;
      return;
    }
    // A queue that is not empty will probably grow further.
    const room = last === undefined ? SMALL : Math.min(2 * last.bytes.length, LARGE);
    const bytes = acquireBuffer(Math.max(piece.length, room));
    bytes.set(piece);
    this.#pieces.push({ bytes, used: piece.length });
  }

  /** Removes the oldest chunk. Returns undefined when the queue is empty. */
  shift(): Piece | undefined {
    const next = this.#pieces.shift();
    if (next !== undefined) this.#size -= next.used;
    return next;
  }

  /** Drops all bytes. @returns their number */
  drop(): number {
    const dropped = this.#size;
    for (const { bytes } of this.#pieces) releaseBuffer(bytes);
    this.#pieces.length = this.#size = 0;
    return dropped;
  }
}
