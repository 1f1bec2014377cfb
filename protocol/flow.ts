import {
  INITIAL_WINDOW,
  MAX_EARLY_GROWTH,
  MAX_WINDOW,
  MAX_WINDOW_GROWTH,
  OVERDRAFT,
  PROCESS_GROWTH,
  PROCESS_OVERDRAFT,
} from "./limits.ts";

/**
 * The flow-control rules, without I/O and without a clock: methods take the time and return the credit that their
 * caller must send. docs/reference/protocol.md, section 6, describes them.
 */

/** A byte count to take from and give back to, inside a larger budget. */
export class ByteBudget {
  #left: number;
  readonly #above: ByteBudget | null;

  /** @param above the budget that must have the bytes too */
  constructor(bytes: number, above: ByteBudget | null = null) {
    this.#left = bytes;
    this.#above = above;
  }

  /**
   * Takes up to `wanted` bytes and returns their number.
   * @param spared bytes to leave in this budget
   */
  take(wanted: number, spared = 0): number {
    const here = Math.max(0, Math.min(wanted, this.#left - spared));
    const taken = this.#above === null ? here : this.#above.take(here);
    this.#left -= taken;
    return taken;
  }

  /** Takes all `bytes` or none. Returns whether it took them. */
  takeAll(bytes: number): boolean {
    const taken = this.take(bytes);
    if (taken < bytes) this.giveBack(taken);
    return taken === bytes;
  }

  /** Gives bytes back. */
  giveBack(bytes: number): void {
    this.#left += bytes;
    this.#above?.giveBack(bytes);
  }
}

/** Window growth for all sessions in this process. */
export const growthOfProcess = new ByteBudget(PROCESS_GROWTH);
/** The overdraft for the clients in all relay sessions in this process. */
export const overdraftOfProcess = new ByteBudget(PROCESS_OVERDRAFT);

/** The budgets that one session's streams share. */
export class SessionFlow {
  /** Window growth for all streams. */
  readonly growth: ByteBudget;
  /** Bytes that this side's streams may still send beyond their credit. */
  overdraft = OVERDRAFT;
  /** The peer's bytes beyond its streams' credit, less those paid back. */
  peerOverdrawn = 0;
  /** Upper bound for {@link peerOverdrawn}. */
  #peerOverdraft: number;
  /** The budget that the peer's overdraft comes from while requests allow it; null if the peer always has it. */
  readonly #shared: ByteBudget | null;
  /** Open requests whose response may be overdrawn. */
  #overdrawing = 0;
  /** Overdrawn bytes by stream id for ended streams: the peer pays them back later. */
  readonly #debts = new Map<number, number>();

  /** @param shared null on a client, which has one relay; a relay has many clients and needs a common bound */
  constructor(growth: ByteBudget, shared: ByteBudget | null) {
    this.growth = growth;
    this.#shared = shared;
    this.#peerOverdraft = shared === null ? OVERDRAFT : 0;
  }

  /** Allows a new request's response to be overdrawn, if the shared budget has enough. Returns whether it may. */
  allowOverdraft(): boolean {
    if (this.#peerOverdraft === 0 && !this.#shared!.takeAll(OVERDRAFT)) return false;
    this.#peerOverdraft = OVERDRAFT;
    this.#overdrawing++;
    return true;
  }

  /** A request with {@link allowOverdraft} has ended. */
  endOverdraft(): void {
    this.#overdrawing--;
    this.#release();
  }

  /** The peer sent bytes beyond its credit. Returns whether it may. */
  receiveBeyond(bytes: number): boolean {
    this.peerOverdrawn += bytes;
    return this.peerOverdrawn <= this.#peerOverdraft;
  }

  /** The peer got credit for overdrawn bytes. */
  payBackPeer(bytes: number): void {
    this.peerOverdrawn -= bytes;
    this.#release();
  }

  /** A stream that ended still has `bytes` overdrawn; they return with {@link repay}. */
  owe(id: number, bytes: number): void {
    this.#debts.set(id, bytes);
  }

  /** Credit for a stream that ended: returns overdrawn bytes to this side's overdraft. */
  repay(id: number, bytes: number): void {
    const debt = this.#debts.get(id);
    if (debt === undefined) return;
    const paid = Math.min(bytes, debt);
    this.overdraft += paid;
    if (paid === debt) this.#debts.delete(id);
    else this.#debts.set(id, debt - paid);
  }

  /** Returns the peer's overdraft to the shared budget if no request uses it and no overdrawn byte waits here. */
  #release(): void {
    if (this.#overdrawing > 0 || this.peerOverdrawn > 0 || this.#peerOverdraft === 0 || this.#shared === null) return;
    this.#peerOverdraft = 0;
    this.#shared.giveBack(OVERDRAFT);
  }
}

/** The bytes that one stream may send. */
export class SendCredit {
  readonly #session: SessionFlow;
  /** Below 0 by the overdrawn bytes. */
  #credit = INITIAL_WINDOW;
  /** Until the first credit arrives: it shows that the peer knows about the body. */
  #mayOverdraw: boolean;

  constructor(session: SessionFlow, mayOverdraw: boolean) {
    this.#session = session;
    this.#mayOverdraw = mayOverdraw;
  }

  /** Bytes that may be sent now. */
  get available(): number {
    return Math.max(0, this.#credit) + (this.#mayOverdraw ? this.#session.overdraft : 0);
  }

  /** Whether `bytes` fit the credit without the overdraft. */
  fits(bytes: number): boolean {
    return bytes <= this.#credit;
  }

  /** `bytes` were sent. */
  spend(bytes: number): void {
    this.#credit -= bytes;
    if (this.#credit < 0) this.#session.overdraft -= Math.min(bytes, -this.#credit);
  }

  /** Credit arrived. Returns false if it adds up to more than twice the largest window. */
  add(bytes: number): boolean {
    if (this.#credit < 0) this.#session.overdraft += Math.min(bytes, -this.#credit);
    this.#credit += bytes;
    this.#mayOverdraw = false;
    return this.#credit <= 2 * MAX_WINDOW;
  }

  /** The stream has ended. @param owes whether the peer will read the overdrawn bytes, and pay them back then */
  close(id: number, owes: boolean): void {
    if (this.#credit >= 0) return;
    if (owes) this.#session.owe(id, -this.#credit);
    else this.#session.overdraft -= this.#credit;
  }
}

/** The bytes that the peer may send on one stream, and the window that decides when it gets more. */
export class ReceiveWindow {
  /** The measured round trip decides about the next growth: the caller should measure it again. */
  wantsRoundTrip = false;
  readonly #session: SessionFlow;
  #size = INITIAL_WINDOW;
  /** Bytes that the peer may still send; below 0 by the overdrawn bytes. */
  #allowance = INITIAL_WINDOW;
  /** Bytes that were passed on and not granted again. */
  #ungranted = 0;
  /** Bytes that arrived and were not passed on. */
  #waiting = 0;
  /** Time at the last grant, or at the first byte; 0 before. */
  #grantedAt = 0;
  /** Nearly all arrived bytes were passed on at some time since the last grant. */
  #hasKeptUp = false;
  /** The stream ended after all the peer's bytes arrived: credit pays back the overdrawn ones. */
  #paysBack = false;

  constructor(session: SessionFlow) {
    this.#session = session;
  }

  /** Bytes in this window from the session's growth budget. */
  get growth(): number {
    return this.#size - INITIAL_WINDOW;
  }

  /** Bytes arrived. Returns false if the peer had no credit for them. */
  receive(bytes: number, now: number): boolean {
    if (this.#grantedAt === 0) this.#grantedAt = now;
    this.#allowance -= bytes;
    this.#waiting += bytes;
    return this.#allowance >= 0 || this.#session.receiveBeyond(Math.min(bytes, -this.#allowance));
  }

  /**
   * Bytes were passed on while the stream is open.
   * @param isComplete whether the peer has ended its direction: credit then only pays back
   * @returns the credit to send, often 0
   */
  pass(bytes: number, now: number, roundTripMs: number, isComplete: boolean): number {
    this.#waiting = Math.max(0, this.#waiting - bytes);
    this.#ungranted += bytes;
    // Bytes arrive in bursts: half a burst can wait here while the other half was passed on.
    this.#hasKeptUp ||= this.#waiting <= this.#size / 4;
    if ((isComplete && this.#allowance >= 0) || this.#ungranted < this.#size / 2) return 0;
    const sinceMs = now - this.#grantedAt;
    this.#grantedAt = now;
    const credit = this.#ungranted + this.#resize(sinceMs, roundTripMs);
    this.#ungranted = 0;
    this.#hasKeptUp = false;
    return this.#grant(credit);
  }

  /** Bytes were passed on after the stream's end. Returns the credit to send. */
  passLate(bytes: number): number {
    this.#waiting = Math.max(0, this.#waiting - bytes);
    return this.#release();
  }

  /**
   * Grows at once for a body with `bytes`, up to `EASY_WINDOW`. Some growth stays reserved for streams whose readers
   * have already read bytes.
   * @returns the credit to send
   */
  expect(bytes: number): number {
    const wanted = Math.min(bytes, EASY_WINDOW) - this.#size;
    if (wanted <= 0) return 0;
    const more = this.#session.growth.take(wanted, MAX_WINDOW_GROWTH - MAX_EARLY_GROWTH);
    this.#size += more;
    return this.#grant(more);
  }

  /**
   * The stream has ended.
   * @param isWhole whether all the peer's bytes arrived: waiting ones count until they are passed on, and are paid back
   * @param keepsWaiting whether they stay here for their reader
   * @returns the credit to send
   */
  close(isWhole: boolean, keepsWaiting: boolean): number {
    this.#paysBack = isWhole;
    return keepsWaiting ? this.#release() : this.drop();
  }

  /** The bytes that wait were dropped. Returns the credit to send. */
  drop(): number {
    this.#waiting = 0;
    return this.#release();
  }

  #grant(credit: number): number {
    if (credit <= 0) return 0;
    if (this.#allowance < 0) this.#session.payBackPeer(Math.min(credit, -this.#allowance));
    this.#allowance += credit;
    return credit;
  }

  /** Returns to the session's budgets all bytes that this ended stream does not need for its waiting bytes. */
  #release(): number {
    const paid = -this.#allowance - this.#waiting;
    let credit = 0;
    if (paid > 0 && this.#paysBack) credit = this.#grant(paid);
    else if (paid > 0) {
      this.#allowance += paid;
      this.#session.payBackPeer(paid);
    }
    const less = this.growth - this.#waiting;
    if (less > 0) {
      this.#size -= less;
      this.#session.growth.giveBack(less);
    }
    return credit;
  }

  /** Fits the window to a reader who took half the window in `sinceMs`. Returns the change in bytes. */
  #resize(sinceMs: number, roundTripMs: number): number {
    const { growth } = this.#session;
    if (sinceMs > SHRINK_AFTER_MS) {
      const less = Math.min(this.growth, this.#ungranted);
      this.#size -= less;
      growth.giveBack(less);
      return -less;
    }
    // If much data always waits here, the reader is the bottleneck, and a larger window would only hold more.
    if (sinceMs > GROW_WITHIN_MS || !this.#hasKeptUp || this.#size >= MAX_WINDOW) return 0;
    this.wantsRoundTrip = true;
    const isEasy = this.#size < EASY_WINDOW;
    if (!isEasy && !this.#needsMore(sinceMs, roundTripMs)) return 0;
    const more = growth.take(Math.min(GROW_BY * this.#size, (isEasy ? EASY_WINDOW : MAX_WINDOW) - this.#size));
    this.#size += more;
    return more;
  }

  /** Whether more bytes arrive during a few round trips than the window holds. */
  #needsMore(sinceMs: number, roundTripMs: number): boolean {
    // Bytes that waited on the way arrive in bursts, which do not show the rate in the long run.
    const perMs = this.#ungranted / Math.max(sinceMs, roundTripMs, BURST_MS);
    return this.#size < ROUND_TRIPS * perMs * roundTripMs;
  }
}

/** A reader that takes half a window within this time waits for the window. */
const GROW_WITHIN_MS = 250;
/** A window reaches its bound within a few round trips: 40 KiB, 200 KiB, 1000 KiB, 5000 KiB, 15 MiB. */
const GROW_BY = 4;
/** A window holds the bytes for this many round trips. One would suffice if each byte gave credit at once. */
const ROUND_TRIPS = 3;
const BURST_MS = 20;
/** Up to this size, two steps, a window grows for any reader that keeps up, without a measured need. */
const EASY_WINDOW = 25 * INITIAL_WINDOW;
/** A reader that takes longer than this for half a window does not need that size. */
const SHRINK_AFTER_MS = 2000;
