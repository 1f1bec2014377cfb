import { clearTimeout, setTimeout } from "node:timers";
import { callerGone, type HttpError } from "../../../common/http_error.ts";
import type { Ending } from "../../../net/upstream/mod.ts";
import { upstreamTimeout } from "./upstream.ts";

/** Who asked for a request; its signal aborts when they go away. */
interface Caller {
  readonly signal: AbortSignal;
}

/**
 * A caller is watched from then on. Most answers are there sooner, and the watch costs a listener that makes its
 * signal on demand as much as a fifth of such a request.
 */
const WATCH_AFTER_MS = 25;

/** Ends a request when its caller has gone or its time is up, whichever is first. Whoever creates it stops it. */
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

  /** @param totalMs milliseconds until the time is up */
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

  /** From now on only a pause of that many milliseconds between two calls of {@link restart} ends it. */
  limitIdle(ms: number): void {
    this.#clock.clear(this.#alarm);
    this.#idleMs = ms;
    this.#alarm = this.#clock.set(ms, () => this.#finish(upstreamTimeout(ms)));
  }

  /** Something moved. */
  restart(): void {
    if (this.#idleMs !== null) this.#clock.postpone(this.#alarm, this.#idleMs);
  }

  /** Whether a promise settles within `ms` milliseconds. @throws the reason of a rejection within that time */
  async settlesWithin<T>(promise: Promise<T>, ms: number): Promise<boolean> {
    let alarm: Alarm | null = null;
    const late = new Promise<false>((resolve) => alarm = this.#clock.set(ms, () => resolve(false)));
    try {
      return await Promise.race([promise.then(() => true), late]);
    } finally {
      if (alarm !== null) this.#clock.clear(alarm);
    }
  }

  /** The request has ended; nothing fires any more. */
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

/** Something that is to happen at a time. */
export interface Alarm {
  /** By `performance.now()`. */
  dueAt: number;
  readonly ring: () => void;
}

/**
 * Many alarms on one timer. Nearly all are cleared before they ring, and a timer of its own for each costs more than
 * all else that a request does about its time. Whoever creates it stops it.
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

  /** Moves an alarm to that many milliseconds from now; one that has rung stays so. */
  postpone(alarm: Alarm, ms: number): void {
    alarm.dueAt = performance.now() + ms;
  }

  /** Forgets an alarm; no effect on one that has rung. */
  clear(alarm: Alarm): void {
    this.#alarms.delete(alarm);
  }

  /** Forgets all alarms and lets go of the timer. */
  stop(): void {
    this.#alarms.clear();
    clearTimeout(this.#timer);
    this.#wakesAt = Infinity;
  }

  #wakeBy(dueAt: number): void {
    if (dueAt >= this.#wakesAt) return;
    clearTimeout(this.#timer);
    this.#wakesAt = dueAt;
    // It stays when the last alarm is cleared, as the next one is near; so it must not hold the process back.
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
