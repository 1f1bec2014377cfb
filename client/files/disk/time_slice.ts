import { setImmediate as yieldToEventLoop } from "node:timers/promises";

/** Longest uninterrupted run of long work, in milliseconds. */
const SLICE_MS = 4;

/** Splits long work into slices and lets other work run in between. */
export class TimeSlice {
  readonly #now: () => number;
  #startedAt: number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#startedAt = now();
  }

  /** Whether the slice is used up and {@link next} is due. */
  get isOver(): boolean {
    return this.#now() - this.#startedAt > SLICE_MS;
  }

  /** Lets other work run. Throws the reason of `signal` when it is aborted by then. */
  async next(signal?: AbortSignal): Promise<void> {
    await yieldToEventLoop();
    signal?.throwIfAborted();
    this.#startedAt = this.#now();
  }
}
