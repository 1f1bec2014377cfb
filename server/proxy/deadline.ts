import { HttpError } from "../../common/http_error.ts";
import { upstreamTimeout } from "./upstream_error.ts";

/** Ends a request when its caller has gone or its time is up, whichever is first. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** From now on only a pause of that many milliseconds between two calls of {@link restart} ends it. */
  limitIdle(ms: number): void;
  /** Something moved. */
  restart(): void;
  /** The request has ended; nothing fires any more. */
  stop(): void;
}

/** Starts the time for one request. Whoever starts it stops it; `onStop` is called once then. */
export function startDeadline(caller: AbortSignal, totalMs: number, onStop: () => void): Deadline {
  const controller = new AbortController();
  const onGone = () => controller.abort(new HttpError(499, "caller_gone", "The caller has gone."));
  let timer = setTimeout(() => controller.abort(upstreamTimeout(totalMs)), totalMs);
  let idleMs: number | null = null;
  let movedAt = 0;
  let stopped = false;
  if (caller.aborted) onGone();
  else caller.addEventListener("abort", onGone);

  // One timer is looked at again when it fires: a timer a chunk would cost more than the chunk.
  function checkIdle(limitMs: number): void {
    const restMs = movedAt + limitMs - performance.now();
    if (restMs <= 0) controller.abort(upstreamTimeout(limitMs));
    else timer = setTimeout(() => checkIdle(limitMs), restMs);
  }

  return {
    signal: controller.signal,
    limitIdle(ms) {
      clearTimeout(timer);
      idleMs = ms;
      movedAt = performance.now();
      timer = setTimeout(() => checkIdle(ms), ms);
    },
    restart() {
      if (idleMs !== null) movedAt = performance.now();
    },
    stop() {
      if (stopped) return;
      stopped = true;
      onStop();
      clearTimeout(timer);
      caller.removeEventListener("abort", onGone);
    },
  };
}
