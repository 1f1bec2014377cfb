/** Between pieces, in bytes: the beginnings of all would share a few places of the processor's cache. */
const CACHE_LINE = 64;

/**
 * Memory that is cut from slabs: what the runtime keeps of each piece of memory, and looks up in every read and write, is
 * then the same for many connections, and in the processor's cache. The garbage collector frees a slab once none of its
 * pieces is in use.
 */
export class Slabs {
  readonly #size: number;
  readonly #pieces: number;
  #slab: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #cut: number;

  /**
   * @param size of a piece, in bytes
   * @param pieces to a slab
   */
  constructor(size: number, pieces: number) {
    this.#size = size;
    this.#pieces = this.#cut = pieces;
  }

  /** A piece that nobody else has. */
  cut(): Uint8Array<ArrayBuffer> {
    const stride = this.#size + CACHE_LINE;
    if (this.#cut === this.#pieces) {
      this.#slab = new Uint8Array(this.#pieces * stride);
      this.#cut = 0;
    }
    const at = stride * this.#cut++;
    return this.#slab.subarray(at, at + this.#size);
  }
}
