/** Distance between buffers, in bytes. Otherwise all would start in the same few lines of the processor's cache. */
const CACHE_LINE = 64;

/**
 * Buffers cut from slabs. The runtime's record for each memory block is then shared by many connections and stays in
 * the processor's cache. The garbage collector frees a slab after its last buffer.
 */
export class Slabs {
  readonly #size: number;
  readonly #pieces: number;
  #slab: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #cut: number;

  /**
   * @param size bytes in one buffer
   * @param pieces buffers per slab
   */
  constructor(size: number, pieces: number) {
    this.#size = size;
    this.#pieces = this.#cut = pieces;
  }

  /** Returns an unused buffer. */
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
