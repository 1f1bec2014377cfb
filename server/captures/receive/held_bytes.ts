import { storageBusy } from "../errors.ts";

/** Counts the bytes that wait in memory for the disk, of all calls together. */
export class HeldBytes {
  readonly #max: number;
  #held = 0;

  /** @param max bytes that may wait */
  constructor(max: number) {
    this.#max = max;
  }

  /** @throws HttpError 503 where there is no room for so many more */
  take(bytes: number): void {
    if (this.#held + bytes > this.#max) throw storageBusy();
    this.#held += bytes;
  }

  /** Those need no memory any more. */
  give(bytes: number): void {
    this.#held -= bytes;
  }

  get count(): number {
    return this.#held;
  }
}
