import { Buffer } from "node:buffer";

/** Bytes that come piece by piece, copied into one place: linear in their number, whatever the size of the pieces. */
export class GrowingBytes {
  #memory = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** All so far, as a view that the next change makes stale. */
  get bytes(): Buffer {
    return this.#memory.subarray(0, this.#length);
  }

  append(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (length > this.#memory.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, this.#memory.length * 2));
      larger.set(this.bytes);
      this.#memory = larger;
    }
    this.#memory.set(piece, this.#length);
    this.#length = length;
  }

  /** Hands all over, for good, and begins anew. */
  take(): Buffer {
    const { bytes } = this;
    this.#memory = Buffer.alloc(0);
    this.#length = 0;
    return bytes;
  }
}
