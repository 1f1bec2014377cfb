/** Limits how often a caller may act. */
export interface RateLimiter {
  /** Takes one turn for `key` if available. Returns the milliseconds to wait, 0 after a taken turn. */
  take(key: string): number;
  /** Returns the result of {@link take} without taking a turn. */
  peek(key: string): number;
}

/** Rate for each key. */
export interface RateLimiterOptions {
  /** Turns that a key can save up and take at once. */
  burst: number;
  /** New turns per minute. */
  perMinute: number;
  /** Maximum number of remembered keys. When full, keys with all their turns are dropped first, then the oldest. */
  maxKeys?: number;
  /** A monotonic clock in milliseconds; `performance` if left out. */
  now?: () => number;
}

/** Creates a token bucket per key, with bounded memory for any number of keys. */
export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  const { burst, perMinute, maxKeys = 50_000, now = () => performance.now() } = options;
  const perMs = perMinute / 60_000;
  const buckets = new Map<string, { turns: number; at: number }>();

  function take(key: string): number {
    const at = now();
    const turns = countTurns(key, at);
    // Deleting first moves the key to the end, so the map keeps the order of last use.
    buckets.delete(key);
    if (buckets.size >= maxKeys) evict(at);
    buckets.set(key, { turns: turns >= 1 ? turns - 1 : turns, at });
    return turns >= 1 ? 0 : Math.ceil((1 - turns) / perMs);
  }

  function peek(key: string): number {
    const turns = countTurns(key, now());
    return turns >= 1 ? 0 : Math.ceil((1 - turns) / perMs);
  }

  function countTurns(key: string, at: number): number {
    const bucket = buckets.get(key) ?? { turns: burst, at };
    return Math.min(burst, bucket.turns + (at - bucket.at) * perMs);
  }

  function evict(at: number): void {
    for (const [key, { turns, at: then }] of buckets) {
      if (turns + (at - then) * perMs < burst) break;
      buckets.delete(key);
    }
    const oldest = buckets.keys().next().value;
    if (buckets.size >= maxKeys && oldest !== undefined) buckets.delete(oldest);
  }

  return { take, peek };
}
