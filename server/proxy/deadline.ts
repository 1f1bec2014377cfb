import { HttpError } from "../../common/http_error.ts";
import type { Alarm, AlarmClock } from "./alarm_clock.ts";
import { upstreamTimeout } from "./upstream/mod.ts";

/** Ends a request when its caller has gone or its time is up, whichever is first. */
export interface Deadline {
  /** Why the request has to end; null while it may go on. */
  readonly reason: HttpError | null;
  /** Has `end` called when the request has to end. One at a time: a later call takes the place of an earlier one. */
  onEnd(end: ((reason: HttpError) => void) | null): void;
  /** From now on only a pause of that many milliseconds between two calls of {@link restart} ends it. */
  limitIdle(ms: number): void;
  /** Something moved. */
  restart(): void;
  /** The request has ended; nothing fires any more. */
  stop(): void;
}

export interface DeadlineOptions {
  clock: AlarmClock;
  /** Its signal aborts when the caller goes away. */
  caller: { readonly signal: AbortSignal };
  totalMs: number;
  /** Called once, when the deadline is stopped. */
  onStop: () => void;
}

/**
 * A caller is watched from then on. Most answers are there sooner, and the watch costs a listener that makes its
 * signal on demand as much as a fifth of such a request.
 */
const WATCH_AFTER_MS = 25;

/** Starts the time for one request. Whoever starts it stops it. */
export function startDeadline({ clock, caller, totalMs, onStop }: DeadlineOptions): Deadline {
  let reason: HttpError | null = null;
  let end: ((reason: HttpError) => void) | null = null;
  let idleMs: number | null = null;
  let stopped = false;
  const finish = (why: HttpError) => {
    reason ??= why;
    end?.(reason);
  };
  const onGone = () => finish(new HttpError(499, "caller_gone", "The caller has gone."));
  let alarm: Alarm = clock.set(totalMs, () => finish(upstreamTimeout(totalMs)));
  let watched: AbortSignal | null = null;
  const watch = clock.set(Math.min(WATCH_AFTER_MS, totalMs), () => {
    watched = caller.signal;
    if (watched.aborted) onGone();
    else watched.addEventListener("abort", onGone);
  });

  return {
    get reason() {
      return reason;
    },
    onEnd(callback) {
      end = callback;
    },
    limitIdle(ms) {
      clock.clear(alarm);
      idleMs = ms;
      alarm = clock.set(ms, () => finish(upstreamTimeout(ms)));
    },
    restart() {
      if (idleMs !== null) clock.postpone(alarm, idleMs);
    },
    stop() {
      if (stopped) return;
      stopped = true;
      end = null;
      clock.clear(alarm);
      clock.clear(watch);
      watched?.removeEventListener("abort", onGone);
      onStop();
    },
  };
}
