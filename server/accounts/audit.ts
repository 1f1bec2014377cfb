import type { Store } from "../store/mod.ts";

/** Who does something, for the log. */
export interface Actor {
  id: string | null;
  email: string;
}

/** What the server does by itself. */
export const SERVER: Actor = { id: null, email: "server" };

/** Writes down what changes who may do what. */
export class Audit {
  readonly #log: Store["auditLog"];
  readonly #now: () => number;
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
    if (this.#written++ % TRIM_EVERY === 0) await this.#log.trim(at - KEPT_MS, MAX_ENTRIES);
  }
}

const MAX_SUBJECT = 300;
const TRIM_EVERY = 100;
const KEPT_MS = 365 * 24 * 3600 * 1000;
/** Entries of all accounts together. */
const MAX_ENTRIES = 100_000;
