import { setImmediate } from "node:timers";

let next: Promise<void> | null = null;

/** Resolves in the next event loop iteration. All callers in one iteration share a callback. */
export function yieldToEventLoop(): Promise<void> {
  next ??= new Promise((resolve) => {
    setImmediate(() => {
      next = null;
      resolve();
    });
  });
  return next;
}

let now = NaN;
const DONE = Promise.resolve();

/**
 * Returns `performance.now()`, read once per batch of synchronous work: a read costs as much as parsing a small head.
 * Use it only for durations of a millisecond or more.
 */
export function coarseNow(): number {
  if (Number.isNaN(now)) {
    now = performance.now();
    void DONE.then(forget);
  }
  return now;
}

function forget(): void {
  now = NaN;
}
