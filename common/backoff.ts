/** Backoff delays in milliseconds. The bound doubles with every attempt. `random` returns 0 to below 1. */
export interface BackoffOptions {
  /** Longest first delay, in milliseconds. */
  initialMs: number;
  /** Longest delay, in milliseconds. */
  maxMs: number;
  random?: () => number;
}

/** Growing delays between attempts, with jitter, so that clients do not reconnect to a restarted server at once. */
export interface Backoff {
  /** Returns the delay before the next attempt, in milliseconds. */
  next(): number;
  /** Starts over after a successful attempt. */
  reset(): void;
}

/** Creates an exponential backoff with jitter: each delay is between half the bound and the bound. */
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
