import { releaseBuffer } from "../../../../common/buffers/buffer_pool.ts";
import { PieceQueue } from "../../../body/chunk_queue.ts";
import { FIRST_WINDOW } from "./frames.ts";

/** A stream's window grows up to this while its reader keeps up, in bytes: as much as the connection's. */
const LARGEST_WINDOW = 1024 * 1024;
const GROW_BY = 4;
/** A reader that takes half a window within this is held up by the window, not by itself. */
const GROW_WITHIN_MS = 250;

/** One stream's body on its way in: what has come and not been read, and what may still come. */
export class Incoming {
  /** Bytes that may come before the visitor is told of more. */
  allowance = FIRST_WINDOW;
  #window = FIRST_WINDOW;
  readonly #waiting = new PieceQueue();
  /** What was given out last. */
  #lent: Uint8Array<ArrayBuffer> = NOTHING;
  /** Bytes that were taken, of which the visitor has not been told. */
  #untold = 0;
  #toldAt = performance.now();

  /** Adds what came, as a copy. */
  push(piece: Uint8Array): void {
    this.#waiting.push(piece);
  }

  /** The next piece, good until the next call, or null where nothing waits. */
  shift(): Uint8Array<ArrayBuffer> | null {
    this.release();
    const next = this.#waiting.shift();
    if (next === undefined) return null;
    this.#lent = next.bytes;
    return next.bytes.subarray(0, next.used);
  }

  /** Gives the memory of the piece before back: only whoever had it may say that nobody has it any more. */
  release(): void {
    if (this.#lent.length > 0) releaseBuffer(this.#lent);
    this.#lent = NOTHING;
  }

  /** Drops what waits. @returns how many bytes it was */
  drop(): number {
    return this.#waiting.drop();
  }

  /** So many bytes were taken. @returns what the visitor may send more, once it is worth telling them, else 0 */
  taken(bytes: number): number {
    this.#untold += bytes;
    if (this.#untold < this.#window / 2) return 0;
    const now = performance.now();
    let more = this.#untold;
    if (now - this.#toldAt < GROW_WITHIN_MS && this.#waiting.size <= this.#window / 4) {
      const grown = Math.min(GROW_BY * this.#window, LARGEST_WINDOW);
      more += grown - this.#window;
      this.#window = grown;
    }
    this.#toldAt = now;
    this.#untold = 0;
    this.allowance += more;
    return more;
  }
}

const NOTHING = new Uint8Array(0);
