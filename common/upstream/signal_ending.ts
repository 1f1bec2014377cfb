import { aborted } from "../delay.ts";
import type { Ending } from "./types.ts";

/** Ends a request when a signal aborts. */
export class SignalEnding implements Ending {
  readonly #signal: AbortSignal;
  readonly #explain: () => Error;
  #end: ((reason: Error) => void) | null = null;

  /** @param explain why the request has to end, asked once the signal has aborted */
  constructor(signal: AbortSignal, explain: () => Error) {
    this.#signal = signal;
    this.#explain = explain;
    void aborted(signal).then(() => this.#end?.(explain()));
  }

  get reason(): Error | null {
    return this.#signal.aborted ? this.#explain() : null;
  }

  onEnd(end: ((reason: Error) => void) | null): void {
    this.#end = end;
    if (end !== null && this.reason !== null) end(this.reason);
  }
}
