/** What paces the side that fills a {@link BodyQueue}. */
export interface Flow {
  pause(): void;
  resume(): void;
  /** Ends the transfer because nobody wants the rest. */
  abort(reason: Error): void;
}

/** Bytes that may wait for a slow reader before the sender is told to pause. */
const HIGH_WATER_BYTES = 256 * 1024;

/**
 * Carries a body from callbacks to a reader with back-pressure. All that has arrived is taken in one go, so a small
 * body costs its reader one turn however many pieces it came in.
 */
export class BodyQueue {
  readonly #flow: Flow;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #ended = false;
  #failure: { error: unknown } | null = null;
  #paused = false;
  #wake: (() => void) | null = null;

  constructor(flow: Flow) {
    this.#flow = flow;
  }

  push(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.byteLength;
    if (this.#bytes >= HIGH_WATER_BYTES && !this.#paused) {
      this.#paused = true;
      this.#flow.pause();
    }
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#wake?.();
  }

  /**
   * All chunks that are there, waiting for one when there is none; null at the end.
   * Rejects with what {@link fail} was called with, after the chunks that came before it.
   */
  async take(): Promise<Uint8Array[] | null> {
    while (this.#chunks.length === 0) {
      if (this.#failure) throw this.#failure.error;
      if (this.#ended) return null;
      await new Promise<void>((wake) => this.#wake = wake);
      this.#wake = null;
    }
    const taken = this.#chunks;
    this.#chunks = [];
    this.#bytes = 0;
    if (this.#paused && !this.#ended) {
      this.#paused = false;
      this.#flow.resume();
    }
    return taken;
  }

  /** Gives the rest up. */
  cancel(reason: Error): void {
    if (!this.#ended && !this.#failure) this.#flow.abort(reason);
  }
}
