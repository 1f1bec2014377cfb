import type { Kysely } from "kysely";
import type { Database } from "../schema/mod.ts";

/** An audit entry: a changed permission, or a request that a member had the server send. */
export interface AuditEntry {
  id: string;
  /** Unix milliseconds. */
  at: number;
  /** The account concerned; null for the whole server. */
  accountId: string | null;
  /** The acting user; null for the server itself. */
  actorId: string | null;
  /** The user's email address at that time. */
  actor: string;
  /** The action, such as `member_added`. */
  action: string;
  /** The changed object or person. */
  subject: string;
}

/** Changes to permissions, and requests that members had the server send. */
export interface AuditLog {
  add(entry: AuditEntry): Promise<void>;
  /** Lists entries for one account or for all, the newest first. */
  list(which: { accountId?: string; limit: number }): Promise<AuditEntry[]>;
  /** Removes entries older than `before`, and all but the newest `keep`. `actions` restricts both to some actions. */
  trim(which: { before: number; keep: number; actions?: readonly string[] }): Promise<void>;
}

/** Creates the audit log for either database. */
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
