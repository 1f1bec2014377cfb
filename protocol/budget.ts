import { PROCESS_GROWTH, PROCESS_OVERDRAFT } from "./limits.ts";

/** Bytes that may be taken and are given back: a budget inside the budget of whoever is above. */
export class ByteBudget {
  #left: number;
  readonly #above: ByteBudget | null;

  /** @param above a budget that has to have it as well */
  constructor(bytes: number, above: ByteBudget | null = null) {
    this.#left = bytes;
    this.#above = above;
  }

  /**
   * Takes up to `wanted` bytes, and says how many.
   * @param spared bytes that are left for others
   */
  take(wanted: number, spared = 0): number {
    const here = Math.max(0, Math.min(wanted, this.#left - spared));
    const taken = this.#above === null ? here : this.#above.take(here);
    this.#left -= taken;
    return taken;
  }

  /** Takes `bytes`, or nothing where there are not so many. Says whether it did. */
  takeAll(bytes: number): boolean {
    const taken = this.take(bytes);
    if (taken < bytes) this.giveBack(taken);
    return taken === bytes;
  }

  /** Gives back what {@link take} gave. */
  giveBack(bytes: number): void {
    this.#left += bytes;
    this.#above?.giveBack(bytes);
  }
}

/** The budget above the growth of all sessions of this process. */
export const growthOfProcess = new ByteBudget(PROCESS_GROWTH);
/** Of which relays' sessions take what their clients may overdraw. */
export const overdraftOfProcess = new ByteBudget(PROCESS_OVERDRAFT);
