import type { Kysely } from "kysely";
import type { Database } from "../schema/mod.ts";

/** One change of what somebody may do, or something that they had the server do. */
export interface AuditEntry {
  id: string;
  /** Unix milliseconds. */
  at: number;
  /** The account it is about; null for what is about the whole server. */
  accountId: string | null;
  /** Who did it; null for the server itself. */
  actorId: string | null;
  /** Their email address at that time. */
  actor: string;
  /** What was done, such as `member_added`. */
  action: string;
  /** To what or whom. */
  subject: string;
}

/** What changed who may do what, and what members had the server do to others. */
export interface AuditLog {
  add(entry: AuditEntry): Promise<void>;
  /** The newest first: of one account, or of all. */
  list(which: { accountId?: string; limit: number }): Promise<AuditEntry[]>;
  /** Forgets what is older than `before`, and all but the newest `keep`: of these actions, or of all. */
  trim(which: { before: number; keep: number; actions?: readonly string[] }): Promise<void>;
}

/** The audit log in either database. */
export function createAuditLog(db: Kysely<Database>): AuditLog {
  return {
    async add({ id, at, accountId, actorId, actor, action, subject }) {
      await db.insertInto("audit_entries")
        .values({ id, at, account_id: accountId, actor_id: actorId, actor, action, subject }).execute();
    },
    async list({ accountId, limit }) {
      let entries = db.selectFrom("audit_entries").selectAll().orderBy("at", "desc").orderBy("id").limit(limit);
      if (accountId !== undefined) entries = entries.where("account_id", "=", accountId);
      return (await entries.execute()).map((row) => ({
        id: row.id,
        at: Number(row.at),
        accountId: row.account_id,
        actorId: row.actor_id,
        actor: row.actor,
        action: row.action,
        subject: row.subject,
      }));
    },
    async trim({ before, keep, actions }) {
      let newest = db.selectFrom("audit_entries").select("at").orderBy("at", "desc").offset(keep).limit(1);
      if (actions !== undefined) newest = newest.where("action", "in", actions);
      const oldest = await newest.executeTakeFirst();
      const until = Math.max(before, oldest === undefined ? 0 : Number(oldest.at) + 1);
      let old = db.deleteFrom("audit_entries").where("at", "<", until);
      if (actions !== undefined) old = old.where("action", "in", actions);
      await old.execute();
    },
  };
}
