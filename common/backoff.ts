/** Bounds of the waits, in milliseconds; the bound doubles with every attempt. `random` gives 0 to below 1. */
export interface BackoffOptions {
  /** Longest first wait, in milliseconds. */
  initialMs: number;
  /** Longest wait at all. */
  maxMs: number;
  random?: () => number;
}

/** Waits between attempts that grow, with jitter, so that many clients of a server that restarts do not come at once. */
export interface Backoff {
  /** Milliseconds to wait before the next attempt. */
  next(): number;
  /** An attempt worked: start over. */
  reset(): void;
}

/** Exponential backoff with full jitter over the upper half: each wait is between half of its bound and the bound. */
export function createBackoff({ initialMs, maxMs, random = Math.random }: BackoffOptions): Backoff {
  let bound = initialMs;
  return {
    next() {
      const wait = bound / 2 + random() * bound / 2;
      bound = Math.min(bound * 2, maxMs);
      return wait;
    },
    reset() {
      bound = initialMs;
    },
  };
}
