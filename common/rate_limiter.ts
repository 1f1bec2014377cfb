/** Says how long a caller has to wait before its next turn; 0 means now. */
export interface RateLimiter {
  /** Takes one turn for `key` if there is one. Returns the milliseconds to wait, 0 when the turn was given. */
  take(key: string): number;
  /** What {@link take} would answer, without taking a turn. */
  peek(key: string): number;
}

/** How often a key gets a turn. */
export interface RateLimiterOptions {
  /** Turns that can be saved up, and so taken at once. */
  burst: number;
  /** Turns that come back a minute. */
  perMinute: number;
  /** Keys remembered at most. When full, those with all their turns are forgotten first, then the oldest. */
  maxKeys?: number;
  /** Milliseconds of a clock that is never set back; that of `performance` when left out. */
  now?: () => number;
}

/** A token bucket a key, with bounded memory however many keys strangers come up with. */
export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  const { burst, perMinute, maxKeys = 50_000, now = () => performance.now() } = options;
  const perMs = perMinute / 60_000;
  const buckets = new Map<string, { turns: number; at: number }>();

  function take(key: string): number {
    const at = now();
    const turns = countTurns(key, at);
    // Deleting first moves the key to the end: the map stays in order of last use.
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
