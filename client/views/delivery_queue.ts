import type { CaptureRecord } from "./records.ts";

/** Most captures in the queue. A full queue holds up the stream's reader. */
const MAX_WAITING = 10_000;
/** Most captures that wait with their bodies. Later ones load theirs again for the delivery. */
const MAX_HELD_BODIES = 100;

/** Options for a queue. */
export interface DeliveryQueueOptions {
  /** Concurrent deliveries; with 1 they keep the capture order. */
  concurrency: number;
  /** Delivers one capture and reports the result. */
  deliver(capture: CaptureRecord): Promise<void>;
  signal: AbortSignal;
}

/** Delivers captures beside their display, so that a slow service delays no output. */
export class DeliveryQueue {
  readonly #options: DeliveryQueueOptions;
  readonly #waiting: CaptureRecord[] = [];
  readonly #failed = Promise.withResolvers<never>();
  #running = 0;
  #wake: (() => void) | null = null;

  constructor(options: DeliveryQueueOptions) {
    this.#options = options;
    this.#failed.promise.catch(() => {});
  }

  /** Adds a capture. Resolves at once while the queue has room. @throws the error from a failed `deliver` */
  async add(capture: CaptureRecord): Promise<void> {
    this.#waiting.push(this.#waiting.length < MAX_HELD_BODIES ? capture : { ...capture, body: null });
    this.#start();
    await Promise.race([this.#failed.promise, this.#room()]);
  }

  /** Resolves when the queue has room. */
  async #room(): Promise<void> {
    while (this.#waiting.length > MAX_WAITING) await new Promise<void>((resolve) => this.#wake = resolve);
  }

  #start(): void {
    const { concurrency, deliver, signal } = this.#options;
    while (this.#running < concurrency && !signal.aborted) {
      const capture = this.#waiting.shift();
      if (capture === undefined) return;
      this.#running++;
      deliver(capture).catch((error) => this.#failed.reject(error)).finally(() => {
        this.#running--;
        this.#wake?.();
        this.#start();
      });
    }
  }
}
