import { setImmediate as yieldToEventLoop } from "node:timers/promises";

/** How long long work may keep others waiting. */
const SLICE_MS = 4;

/** Cuts long work in this process into slices, so that everything else gets its turn in between. */
export class TimeSlice {
  readonly #now: () => number;
  #startedAt: number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#startedAt = now();
  }

  /** Whether it is time for the {@link next}. */
  get isOver(): boolean {
    return this.#now() - this.#startedAt > SLICE_MS;
  }

  /** Lets others work. Throws the reason of `signal` when it is aborted by then. */
  async next(signal?: AbortSignal): Promise<void> {
    await yieldToEventLoop();
    signal?.throwIfAborted();
    this.#startedAt = this.#now();
  }
}
