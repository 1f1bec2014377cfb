import { acquireBuffer, LARGE, releaseBuffer, SMALL } from "../../common/buffers/buffer_pool.ts";

/** Memory of the pool with `bytes[0, used)` in it. Whoever takes it gives it back. */
export interface Piece {
  bytes: Uint8Array<ArrayBuffer>;
  used: number;
}

/** Bytes that wait for whoever takes them, as copies: what comes in many small pieces waits in few. */
export class PieceQueue {
  readonly #pieces: Piece[] = [];
  #size = 0;

  /** Bytes that wait. */
  get size(): number {
    return this.#size;
  }

  /** Adds a copy, which is behind all that waits. */
  push(piece: Uint8Array): void {
    if (piece.length === 0) return;
    this.#size += piece.length;
    const last = this.#pieces.at(-1);
    if (last !== undefined && last.bytes.length - last.used >= piece.length) {
      last.bytes.set(piece, last.used);
      last.used += piece.length;
      return;
    }
    // While something waits already more is likely to come before it is taken.
    const room = last === undefined ? SMALL : Math.min(2 * last.bytes.length, LARGE);
    const bytes = acquireBuffer(Math.max(piece.length, room));
    bytes.set(piece);
    this.#pieces.push({ bytes, used: piece.length });
  }

  /** What has waited longest, or undefined where nothing does. */
  shift(): Piece | undefined {
    const next = this.#pieces.shift();
    if (next !== undefined) this.#size -= next.used;
    return next;
  }

  /** Drops what waits. @returns how many bytes it was */
  drop(): number {
    const dropped = this.#size;
    for (const { bytes } of this.#pieces) releaseBuffer(bytes);
    this.#pieces.length = this.#size = 0;
    return dropped;
  }
}
