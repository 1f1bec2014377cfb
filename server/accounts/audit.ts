import { createRateLimiter } from "../../common/rate_limiter.ts";
import type { Principal } from "../access/mod.ts";
import type { Store } from "../store/mod.ts";

/** Who does something, for the log. */
export interface Actor {
  id: string | null;
  email: string;
}

/** What the server does by itself. */
export const SERVER: Actor = { id: null, email: "server" };

/** What members may do again and again. */
const OFTEN = ["capture_replayed", "capture_not_replayed"] as const;

/** Something that members may do again and again. */
export type OftenDone = typeof OFTEN[number];

/** Writes down what changes who may do what, and what members have this server do to others. */
export class Audit {
  readonly #log: Store["auditLog"];
  readonly #now: () => number;
  /** The same is told once an hour. */
  readonly #noted = createRateLimiter({ burst: 1, perMinute: 1 / 60, maxKeys: 10_000 });
  #written = 0;

  constructor(log: Store["auditLog"], now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  /**
   * @param action what was done, in snake case
   * @param subject to what or whom
   * @param accountId the account that it is about; null for what is about the whole server
   */
  async write(actor: Actor, action: string, subject: string, accountId: string | null = null): Promise<void> {
    const at = this.#now();
    const entry = { id: crypto.randomUUID(), at, accountId, actorId: actor.id, actor: actor.email, action };
    await this.#log.add({ ...entry, subject: subject.slice(0, MAX_SUBJECT) });
    if (this.#written++ % TRIM_EVERY === 0) await this.#trim(at - KEPT_MS);
  }

  /** Writes down what a member did, in their account, unless they did the same within the last hour. */
  async note({ user, account }: Principal, action: OftenDone, subject: string): Promise<void> {
    const key = JSON.stringify([user.id, account.id, action, subject]);
    if (this.#noted.peek(key) > 0) return;
    await this.write(user, action, subject, account.id);
    this.#noted.take(key);
  }

  async #trim(before: number): Promise<void> {
    // With fewer for what is done often, nobody can push out what changed who may do what.
    await this.#log.trim({ before, keep: MAX_OFTEN, actions: OFTEN });
    await this.#log.trim({ before, keep: MAX_ENTRIES });
  }
}

const MAX_SUBJECT = 300;
const TRIM_EVERY = 100;
const KEPT_MS = 365 * 24 * 3600 * 1000;
/** Entries of all accounts together. */
const MAX_ENTRIES = 100_000;
const MAX_OFTEN = 10_000;
