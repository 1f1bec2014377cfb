import { MAX_WINDOW_GROWTH } from "./limits.ts";

/** Bytes that windows may grow by: a budget inside the budget of whoever is above. */
export class GrowthBudget {
  #left: number;
  readonly #above: GrowthBudget | null;

  /** @param above a budget that has to have it as well */
  constructor(bytes: number, above: GrowthBudget | null = null) {
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

  /** Gives back what {@link take} gave. */
  giveBack(bytes: number): void {
    this.#left += bytes;
    this.#above?.giveBack(bytes);
  }
}

/**
 * What all sessions of this process may grow by: readers that kept up, and then all stop at once, hold this much at
 * most besides their initial windows.
 */
const PROCESS_GROWTH = 4 * MAX_WINDOW_GROWTH;

/** The budget above those of all sessions of this process. */
export const growthOfProcess = new GrowthBudget(PROCESS_GROWTH);
