import { createRateLimiter } from "../../common/rate_limiter.ts";
import type { Principal } from "../access/mod.ts";
import type { Store } from "../store/mod.ts";

/** The person that an audit entry names. */
export interface Actor {
  id: string | null;
  email: string;
}

/** The server itself, acting without a user. */
export const SERVER: Actor = { id: null, email: "server" };

/** Actions that members may repeat without limit. */
const OFTEN = ["capture_replayed", "capture_not_replayed"] as const;

/** An action that members may repeat without limit. */
export type OftenDone = typeof OFTEN[number];

/** Writes the audit log: changes to permissions, and requests that members had this server send. */
export class Audit {
  readonly #log: Store["auditLog"];
  readonly #now: () => number;
  /** Suppresses repeated entries for an hour. */
  readonly #noted = createRateLimiter({ burst: 1, perMinute: 1 / 60, maxKeys: 10_000 });
  #written = 0;

  constructor(log: Store["auditLog"], now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  /**
   * Writes an entry.
   * @param action the change, in snake case
   * @param subject the changed object or person
   * @param accountId the account concerned; null for the whole server
   */
  async write(actor: Actor, action: string, subject: string, accountId: string | null = null): Promise<void> {
    const at = this.#now();
    const entry = { id: crypto.randomUUID(), at, accountId, actorId: actor.id, actor: actor.email, action };
    await this.#log.add({ ...entry, subject: subject.slice(0, MAX_SUBJECT) });
    if (this.#written++ % TRIM_EVERY === 0) await this.#trim(at - KEPT_MS);
  }

  /** Writes an entry for a member's action, unless the same action was logged within the last hour. */
  async note({ user, account }: Principal, action: OftenDone, subject: string): Promise<void> {
    const key = JSON.stringify([user.id, account.id, action, subject]);
    if (this.#noted.peek(key) > 0) return;
    await this.write(user, action, subject, account.id);
    this.#noted.take(key);
  }

  async #trim(before: number): Promise<void> {
    // Frequent actions have a lower limit, so that they cannot displace permission changes.
    await this.#log.trim({ before, keep: MAX_OFTEN, actions: OFTEN });
    await this.#log.trim({ before, keep: MAX_ENTRIES });
  }
}

const MAX_SUBJECT = 300;
const TRIM_EVERY = 100;
const KEPT_MS = 365 * 24 * 3600 * 1000;
/** Entries across all accounts. */
const MAX_ENTRIES = 100_000;
const MAX_OFTEN = 10_000;
