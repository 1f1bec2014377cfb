import { HttpError } from "../../common/http_error.ts";
import { networkOf } from "../../net/forwarded.ts";
import { createRateLimiter } from "../../common/rate_limiter.ts";

/**
 * Limits attempts at passwords. Three counters run independently, and all recover over time. One network may try
 * neither many people nor one person many times, and all networks together may try one person only so often. Networks
 * from which a person signed in before are exempt from the last counter, so attackers cannot lock that person out.
 */
export class Attempts {
  readonly #perNetwork = createRateLimiter({ burst: 30, perMinute: 6 });
  readonly #perPair = createRateLimiter({ burst: 10, perMinute: 2 });
  readonly #perPerson = createRateLimiter({ burst: 50, perMinute: 1 });
  /** Networks from which people signed in, the latest last. */
  readonly #known = new Set<string>();

  /**
   * Takes one attempt.
   * @param email the address that the attempt targets; null when unknown
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

  /** Records a correct attempt. */
  succeed(address: string, email: string): void {
    const pair = `${networkOf(address)} ${email}`;
    this.#known.delete(pair);
    const oldest = this.#known.values().next().value;
    if (this.#known.size >= MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
    this.#known.add(pair);
  }
}

/** Pairs (network, person) that stay in memory. */
const MAX_KNOWN = 50_000;

/** Creates 429 `too_many_attempts` with the waiting time. */
export function tooManyAttempts(waitMs: number): HttpError {
  const seconds = Math.ceil(waitMs / 1000);
  return new HttpError(429, "too_many_attempts", `Too many attempts. Try again in ${seconds} s.`, {
    headers: { "retry-after": String(seconds) },
  });
}
