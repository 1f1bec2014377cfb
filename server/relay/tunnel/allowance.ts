import type { AccountUser } from "../../store/mod.ts";
import { Unsaved } from "./unsaved.ts";

/** The part of an allowance from which on its user is warned. */
const LOW = 0.8;

/** What one user of one account may carry a month, over all of their tunnels and in both directions. */
export class Allowance {
  readonly user: AccountUser;
  /** Bytes a month. */
  readonly limit: number;
  /** Bytes. */
  readonly unsaved = new Unsaved();
  /** Whether this month's warning was given. */
  isWarned = false;
  #month: string;
  /** Bytes of the month, including those not yet in the store. */
  #used: number;

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

  /** Counts bytes that were carried. */
  add(bytes: number): void {
    this.#used += bytes;
    this.unsaved.add(bytes);
  }

  /** The month it is now: a new one begins with what the store has not been told of. */
  turn(month: string): void {
    if (month === this.#month) return;
    this.#month = month;
    this.#used = this.unsaved.amount;
    this.isWarned = false;
  }

  /** What the store knows of the month: other servers add to it too. */
  learn(stored: number): void {
    this.#used = stored + this.unsaved.amount;
  }
}
