import type { AccountUser } from "../../store/mod.ts";

/** The part of an allowance from which on its user is warned. */
const LOW = 0.8;

/** What one user of one account may carry a month, over all of their tunnels and in both directions. */
export class Allowance {
  readonly user: AccountUser;
  /** Bytes a month. */
  readonly limit: number;
  /** Whether this month's warning was given. */
  isWarned = false;
  #month: string;
  /** Bytes of the month, including those not yet in the store. */
  #used: number;
  #unsaved = 0;

  /** @param used what the store knows of the month */
  constructor(user: AccountUser, limit: number, month: string, used: number) {
    this.user = user;
    this.limit = limit;
    this.#month = month;
    this.#used = used;
  }

  get used(): number {
    return this.#used;
  }

  get isExhausted(): boolean {
    return this.#used >= this.limit;
  }

  /** Whether the user should be warned. */
  get isLow(): boolean {
    return this.#used >= LOW * this.limit;
  }

  add(bytes: number): void {
    this.#used += bytes;
    this.#unsaved += bytes;
  }

  /** The month it is now: a new one begins with what the store has not been told of. */
  turn(month: string): void {
    if (month === this.#month) return;
    this.#month = month;
    this.#used = this.#unsaved;
    this.isWarned = false;
  }

  get isSaved(): boolean {
    return this.#unsaved === 0;
  }

  /** Traffic since the last call, to be added in the store. */
  takeUnsaved(): number {
    const unsaved = this.#unsaved;
    this.#unsaved = 0;
    return unsaved;
  }

  /** Gives back what {@link takeUnsaved} took when it could not be stored. */
  giveBackUnsaved(bytes: number): void {
    this.#unsaved += bytes;
  }

  /** What the store knows of the month: other servers add to it too. */
  learn(stored: number): void {
    this.#used = stored + this.#unsaved;
  }
}
