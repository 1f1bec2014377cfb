import { clearTimeout, setTimeout } from "node:timers";
import { callerGone, type HttpError } from "../../../common/http_error.ts";
import type { Ending } from "../../../net/upstream/mod.ts";
import { upstreamTimeout } from "./upstream.ts";

/** The client behind a request. Its signal aborts when it disconnects. */
interface Caller {
  readonly signal: AbortSignal;
}

/**
 * The delay before a caller's signal is watched. Most responses arrive sooner, and a signal created on demand costs up
 * to a fifth of such a request.
 */
const WATCH_AFTER_MS = 25;

/** Ends a request when its caller disconnects or its time is over. Its creator stops it. */
export class Deadline implements Ending {
  readonly #clock: AlarmClock;
  readonly #caller: Caller;
  #reason: HttpError | null = null;
  #end: ((reason: HttpError) => void) | null = null;
  #idleMs: number | null = null;
  #stopped = false;
  #alarm: Alarm;
  readonly #watch: Alarm;
  #watched: AbortSignal | null = null;

  /** @param totalMs the time limit in milliseconds */
  constructor(clock: AlarmClock, caller: Caller, totalMs: number) {
    this.#clock = clock;
    this.#caller = caller;
    this.#alarm = clock.set(totalMs, () => this.#finish(upstreamTimeout(totalMs)));
    this.#watch = clock.set(Math.min(WATCH_AFTER_MS, totalMs), () => this.#watchCaller());
  }

  get reason(): HttpError | null {
    return this.#reason;
  }

  onEnd(end: ((reason: HttpError) => void) | null): void {
    this.#end = end;
  }

  /** Replaces the time limit by a limit for pauses between calls to {@link restart}. */
  limitIdle(ms: number): void {
    this.#clock.clear(this.#alarm);
    this.#idleMs = ms;
    this.#alarm = this.#clock.set(ms, () => this.#finish(upstreamTimeout(ms)));
  }

  /** Reports progress. */
  restart(): void {
    if (this.#idleMs !== null) this.#clock.postpone(this.#alarm, this.#idleMs);
  }

  /** Whether a promise settles within `ms` milliseconds. @throws the reason when it rejects in that time */
  async settlesWithin<T>(promise: Promise<T>, ms: number): Promise<boolean> {
    let alarm: Alarm | null = null;
    const late = new Promise<false>((resolve) => alarm = this.#clock.set(ms, () => resolve(false)));
    try {
      return await Promise.race([promise.then(() => true), late]);
    } finally {
      if (alarm !== null) this.#clock.clear(alarm);
    }
  }

  /** Ends the watch. No timer fires afterwards. */
  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#end = null;
    this.#clock.clear(this.#alarm);
    this.#clock.clear(this.#watch);
    this.#watched?.removeEventListener("abort", this.#onGone);
  }

  #watchCaller(): void {
    this.#watched = this.#caller.signal;
    if (this.#watched.aborted) this.#onGone();
    else this.#watched.addEventListener("abort", this.#onGone);
  }

  readonly #onGone = (): void => this.#finish(callerGone());

  #finish(why: HttpError): void {
    this.#reason ??= why;
    this.#end?.(this.#reason);
  }
}

/** An action at a certain time. */
export interface Alarm {
  /** By `performance.now()`. */
  dueAt: number;
  readonly ring: () => void;
}

/**
 * Runs many alarms on one timer. Nearly all are cleared before they fire, and a timer for each would be a request's
 * largest cost here. Its creator stops it.
 */
export class AlarmClock {
  readonly #alarms = new Set<Alarm>();
  #timer: NodeJS.Timeout | undefined;
  #wakesAt = Infinity;

  /** Calls `ring` once, `ms` milliseconds from now or a little later. */
  set(ms: number, ring: () => void): Alarm {
    const alarm = { dueAt: performance.now() + ms, ring };
    this.#alarms.add(alarm);
    this.#wakeBy(alarm.dueAt);
    return alarm;
  }

  /** Moves an alarm to `ms` milliseconds from now. No effect after it fired. */
  postpone(alarm: Alarm, ms: number): void {
    alarm.dueAt = performance.now() + ms;
  }

  /** Removes an alarm. No effect after it fired. */
  clear(alarm: Alarm): void {
    this.#alarms.delete(alarm);
  }

  /** Removes all alarms and the timer. */
  stop(): void {
    this.#alarms.clear();
    clearTimeout(this.#timer);
    this.#wakesAt = Infinity;
  }

  #wakeBy(dueAt: number): void {
    if (dueAt >= this.#wakesAt) return;
    clearTimeout(this.#timer);
    this.#wakesAt = dueAt;
    // The timer stays after the last alarm, because the next one usually follows soon. So it must not keep the process
    // alive.
    this.#timer = setTimeout(() => this.#ringDue(), Math.max(0, dueAt - performance.now())).unref();
  }

  #ringDue(): void {
    this.#wakesAt = Infinity;
    const now = performance.now();
    let next = Infinity;
    for (const alarm of this.#alarms) {
      if (alarm.dueAt > now) next = Math.min(next, alarm.dueAt);
      else if (this.#alarms.delete(alarm)) alarm.ring();
    }
    this.#wakeBy(next);
  }
}
