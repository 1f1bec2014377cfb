import { giveMemory, LARGE, SMALL, takeMemory } from "../../../common/buffer_pool.ts";

/** Memory with `bytes[0, used)` to be written. */
interface Waiting {
  bytes: Uint8Array<ArrayBuffer>;
  used: number;
}

/**
 * Bytes on their way to one visitor: copied from the session's memory, gathered while a write is under way, and told of
 * when they have been taken. The stream's credit bounds how many they can be.
 */
export class OutQueue {
  readonly #write: (bytes: Uint8Array, isLast: boolean) => Promise<void>;
  readonly #taken: (bytes: number) => void;
  readonly #failed: () => void;
  readonly #waiting: Waiting[] = [];
  #isWriting = false;
  #isEnded = false;
  #isDropped = false;
  #finished: (() => void) | null = null;

  /**
   * @param write one call at a time
   * @param taken told how many bytes a write has taken
   * @param failed told when a write rejects
   */
  constructor(
    write: (bytes: Uint8Array, isLast: boolean) => Promise<void>,
    taken: (bytes: number) => void,
    failed: () => void = () => {},
  ) {
    this.#write = write;
    this.#taken = taken;
    this.#failed = failed;
  }

  /** Adds a piece, which is copied; `end` makes it the last. */
  push(piece: Uint8Array, end: boolean): void {
    if (this.#isDropped) return;
    if (piece.length > 0) this.#append(piece);
    this.#isEnded ||= end;
    this.#runSoon();
  }

  /** Calls `finished` once all has been written, instead of a last piece. */
  finish(finished: () => void): void {
    this.#finished = finished;
    if (this.#isWriting) return;
    this.#isWriting = true;
    void this.#run();
  }

  /** Nothing more will be written. */
  drop(): void {
    this.#isDropped = true;
    for (const { bytes } of this.#waiting) giveMemory(bytes);
    this.#waiting.length = 0;
  }

  /** Pieces that came in one message of the session leave in one write. */
  #runSoon(): void {
    if (this.#isWriting) return;
    this.#isWriting = true;
    queueMicrotask(this.#run);
  }

  #append(piece: Uint8Array): void {
    const last = this.#waiting.at(-1);
    if (last !== undefined && last.bytes.length - last.used >= piece.length) {
      last.bytes.set(piece, last.used);
      last.used += piece.length;
      return;
    }
    // While something waits already more is likely to come before it can be written.
    const room = last === undefined ? SMALL : Math.min(2 * last.bytes.length, LARGE);
    const bytes = takeMemory(Math.max(piece.length, room));
    bytes.set(piece);
    this.#waiting.push({ bytes, used: piece.length });
  }

  readonly #run = async (): Promise<void> => {
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        const { bytes, used } = next;
        await this.#write(bytes.subarray(0, used), this.#isEnded && this.#waiting.length === 0 && this.#closeEnd());
        giveMemory(bytes);
        this.#taken(used);
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

  /** The end is told with the write that is made now. */
  #closeEnd(): boolean {
    this.#isEnded = false;
    return true;
  }
}

const NOTHING = new Uint8Array(0);
