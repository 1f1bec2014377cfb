import type { AccountUser } from "../../store/mod.ts";
import { Traffic } from "./gates/traffic.ts";

/** The part of an allowance at which its user gets a warning. */
const LOW = 0.8;

/** Bytes that a user may carry a month in one account, through all tunnels and in both directions. */
export class Allowance extends Traffic {
  readonly user: AccountUser;
  /** Whether the user got this month's warning. */
  isWarned = false;
  #month: string;

  /**
   * @param limit bytes a month
   * @param used bytes that the store counted this month
   */
  constructor(user: AccountUser, limit: number, month: string, used: number) {
    super(limit, used);
    this.user = user;
    this.#month = month;
  }

  /** Whether the user needs a warning. */
  get isLow(): boolean {
    return this.used >= LOW * this.limit;
  }

  /** Sets the present month. A new one begins with the bytes that are not stored yet. */
  turn(month: string): void {
    if (month === this.#month) return;
    this.#month = month;
    this.learn(0);
    this.isWarned = false;
  }
}
