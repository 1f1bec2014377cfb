import { PieceQueue } from "../../../net/body/chunk_queue.ts";
import { releaseBuffer } from "../../../common/buffers/buffer_pool.ts";

/**
 * Bytes on their way to one visitor. The queue copies them from the session's buffer, gathers them while a write is
 * under way, and acknowledges them once they are written. The stream's credit bounds its size.
 */
export class OutQueue {
  readonly #write: (bytes: Uint8Array, isLast: boolean) => Promise<void>;
  readonly #written: (bytes: number) => void;
  readonly #failed: () => void;
  readonly #waiting = new PieceQueue();
  #isWriting = false;
  #isEnded = false;
  #isDropped = false;
  #finished: (() => void) | null = null;

  /**
   * @param write sends bytes; one call at a time
   * @param written receives the byte count after each write
   * @param failed called when a write rejects
   */
  constructor(
    write: (bytes: Uint8Array, isLast: boolean) => Promise<void>,
    written: (bytes: number) => void,
    failed: () => void = () => {},
  ) {
    this.#write = write;
    this.#written = written;
    this.#failed = failed;
  }

  /** Copies a chunk into the queue; `end` makes it the last. */
  push(chunk: Uint8Array, end: boolean): void {
    if (this.#isDropped) return;
    this.#waiting.push(chunk);
    this.#isEnded ||= end;
    this.#runSoon();
  }

  /** Calls `finished` after the last write, without a last chunk. */
  finish(finished: () => void): void {
    this.#finished = finished;
    if (this.#isWriting) return;
    this.#isWriting = true;
    void this.#run();
  }

  /** Drops the queue. It writes nothing more. */
  drop(): void {
    this.#isDropped = true;
    this.#waiting.drop();
  }

  /** Waits for a microtask, so that all chunks from one session message leave in one write. */
  #runSoon(): void {
    if (this.#isWriting) return;
    this.#isWriting = true;
    queueMicrotask(this.#run);
  }

  readonly #run = async (): Promise<void> => {
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        const { bytes, used } = next;
        await this.#write(bytes.subarray(0, used), this.#isEnded && this.#waiting.size === 0 && this.#closeEnd());
        releaseBuffer(bytes);
        this.#written(used);
      }
      if (this.#isDropped) return;
      if (this.#isEnded && this.#closeEnd()) await this.#write(NOTHING, true);
      this.#finished?.();
      this.#finished = null;
    } catch {
      this.drop();
      this.#failed();
    } finally {
      this.#isWriting = false;
    }
  };

  /** Notes that the present write carries the end. */
  #closeEnd(): boolean {
    this.#isEnded = false;
    return true;
  }
}

const NOTHING = new Uint8Array(0);
