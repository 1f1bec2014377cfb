/** What the store is to be told of: an amount that grows in memory, and is added there from time to time. */
export class Unsaved {
  #amount = 0;

  get amount(): number {
    return this.#amount;
  }

  /** Counts more, or gives back what {@link take} took when it could not be stored. */
  add(amount: number): void {
    this.#amount += amount;
  }

  /** All since the last call. */
  take(): number {
    const taken = this.#amount;
    this.#amount = 0;
    return taken;
  }
}
