/**
 * Those who wait, by whose they are: each in turn gets one, the first of theirs. So nobody waits for more than one of
 * each of the others, however many those have.
 */
export class FairQueue<T> {
  /** By whose they are, whoever's turn is next first. */
  readonly #lines = new Map<string, T[]>();
  #size = 0;

  /** How many wait. */
  get size(): number {
    return this.#size;
  }

  /** Adds one at the end of those of `whose`. */
  push(whose: string, item: T): void {
    const line = this.#lines.get(whose);
    if (line === undefined) this.#lines.set(whose, [item]);
    else line.push(item);
    this.#size++;
  }

  /** Takes whoever's turn it is. */
  shift(): T | undefined {
    for (const [whose, line] of this.#lines) {
      const item = line.shift();
      this.#lines.delete(whose);
      if (line.length > 0) this.#lines.set(whose, line);
      this.#size--;
      return item;
    }
  }

  /** Removes one that waits no longer. No effect when it has been taken. */
  delete(whose: string, item: T): void {
    const line = this.#lines.get(whose), at = line?.indexOf(item) ?? -1;
    if (line === undefined || at < 0) return;
    line.splice(at, 1);
    if (line.length === 0) this.#lines.delete(whose);
    this.#size--;
  }
}
