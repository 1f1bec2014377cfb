import { HttpError } from "../../common/http_error.ts";
import { networkOf } from "../../net/forwarded.ts";
import { createRateLimiter } from "../../common/rate_limiter.ts";

/**
 * Limits how often passwords may be tried. Three counts run beside each other, and all come back with time: a network
 * may not try many people, nor one person many times; and all networks together may not try one person very often. From
 * the last are excused networks from which that person has signed in before: nobody locks them out by trying.
 */
export class Attempts {
  readonly #perNetwork = createRateLimiter({ burst: 30, perMinute: 6 });
  readonly #perPair = createRateLimiter({ burst: 10, perMinute: 2 });
  readonly #perPerson = createRateLimiter({ burst: 50, perMinute: 1 });
  /** Networks from which people have signed in, the latest last. */
  readonly #known = new Set<string>();

  /**
   * Takes one attempt.
   * @param email whom it is about; null when nobody can tell
   * @throws HttpError 429 `too_many_attempts` with Retry-After
   */
  take(address: string, email: string | null): void {
    const network = networkOf(address), pair = `${network} ${email}`;
    const waits = [this.#perNetwork.take(network)];
    if (email !== null) waits.push(this.#perPair.take(pair));
    if (email !== null && !this.#known.has(pair)) waits.push(this.#perPerson.take(email));
    const waitMs = Math.max(...waits);
    if (waitMs > 0) throw tooManyAttempts(waitMs);
  }

  /** An attempt was right. */
  succeed(address: string, email: string): void {
    const pair = `${networkOf(address)} ${email}`;
    this.#known.delete(pair);
    const oldest = this.#known.values().next().value;
    if (this.#known.size >= MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
    this.#known.add(pair);
  }
}

/** Pairs of a network and a person that are remembered. */
const MAX_KNOWN = 50_000;

/** 429, with the time to wait. */
export function tooManyAttempts(waitMs: number): HttpError {
  const seconds = Math.ceil(waitMs / 1000);
  return new HttpError(429, "too_many_attempts", `Too many attempts. Try again in ${seconds} s.`, {
    headers: { "retry-after": String(seconds) },
  });
}
