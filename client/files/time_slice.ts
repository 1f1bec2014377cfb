import { setImmediate as nextTurn } from "node:timers/promises";

/** How long long work may keep others waiting. */
const SLICE_MS = 4;

/** Cuts long work in this process into slices, so that everything else gets its turn in between. */
export class TimeSlice {
  #startedAt = performance.now();

  /** Whether it is time to {@link next}. */
  get isOver(): boolean {
    return performance.now() - this.#startedAt > SLICE_MS;
  }

  /** Lets others work. Throws the reason of `signal` when it is aborted by then. */
  async next(signal?: AbortSignal): Promise<void> {
    await nextTurn();
    signal?.throwIfAborted();
    this.#startedAt = performance.now();
  }
}
