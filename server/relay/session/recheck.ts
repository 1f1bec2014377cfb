import { describeError, type Logger } from "../../../common/log.ts";
import { GoAwayReason } from "../../../protocol/mod.ts";
import { type PersistentTunnels, StoreUnavailable } from "../../store/mod.ts";
import type { SessionEnd } from "../tunnel/endpoint.ts";
import type { PersistentRegistry } from "../tunnel/persistent_registry.ts";
import type { Sessions } from "./sessions.ts";

/** Account checks while sessions are open. */
export interface AccountChecks {
  planOf(accountId: string): Promise<"free" | "paid">;
  /** Whether a user is suspended. */
  isSuspended(userId: string): Promise<boolean>;
}

/** Relay parts that {@link Recheck} uses. */
export interface RecheckOptions {
  sessions: Sessions;
  registry: PersistentRegistry;
  store: Pick<PersistentTunnels, "findByIds">;
  accounts: AccountChecks;
  /** Unix milliseconds. */
  now(): number;
  log: Logger;
}

const EVERY_MS = 5000;

/**
 * Checks open sessions again, and the persistent tunnels that they carry. Changes through another server appear only in
 * the store, and requests do not read it.
 */
export class Recheck {
  readonly #options: RecheckOptions;
  #ranAt: number;

  constructor(options: RecheckOptions) {
    this.#options = options;
    this.#ranAt = options.now();
  }

  /** Checks every five seconds. Call it about once a second. */
  async run(): Promise<void> {
    const { now, log } = this.#options;
    if (now() - this.#ranAt < EVERY_MS) return;
    this.#ranAt = now();
    try {
      await this.#checkTunnels();
      await this.#checkAccounts();
    } catch (error) {
      // Sessions continue while the store fails. The relay logs that failure once.
      if (!(error instanceof StoreUnavailable)) log.error("recheck_failed", { reason: describeError(error) });
    }
  }

  async #checkTunnels(): Promise<void> {
    const { registry, store } = this.#options;
    const ids = [...registry.tunnels()].map(({ record }) => record.id);
    const records = new Map((await store.findByIds(ids)).map((record) => [record.id, record]));
    for (const id of ids) {
      const record = records.get(id);
      if (record === undefined) registry.drop(id);
      else await registry.apply(record);
    }
  }

  async #checkAccounts(): Promise<void> {
    const { accounts, sessions } = this.#options;
    const members = sessions.ofMembers();
    const unpaid = await findAll(
      members.map(({ user }) => user.accountId),
      async (id) => await accounts.planOf(id) !== "paid",
    );
    const suspended = await findAll(members.map(({ user }) => user.userId), (id) => accounts.isSuspended(id));
    for (const session of members) {
      if (suspended.has(session.user.userId)) session.end(USER_SUSPENDED.reason, USER_SUSPENDED.text);
      else if (unpaid.has(session.user.accountId)) session.end(NOT_PAID.reason, NOT_PAID.text);
    }
  }
}

const USER_SUSPENDED: SessionEnd = { reason: GoAwayReason.disabled, text: "your user was suspended" };
const NOT_PAID: SessionEnd = { reason: GoAwayReason.disabled, text: "persistent tunnels need a paid account" };

/** Returns the ids that pass a test, which runs once for each. */
async function findAll(ids: readonly string[], isSo: (id: string) => Promise<boolean>): Promise<Set<string>> {
  const found = new Set<string>();
  for (const id of new Set(ids)) if (await isSo(id)) found.add(id);
  return found;
}
