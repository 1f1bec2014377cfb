import type { Migration } from "./types.ts";

/** Personal tokens, the audit log, and generated settings. Times are Unix milliseconds. */
export interface AccountTables {
  /** Values that the server generated, by name. */
  settings: { name: string; value: string };
  personal_tokens: {
    id: string;
    token_hash: string;
    user_id: string;
    account_id: string;
    name: string;
    scopes: string;
    created_at: number;
    expires_at: number | null;
    used_at: number | null;
  };
  audit_entries: {
    id: string;
    at: number;
    account_id: string | null;
    actor_id: string | null;
    actor: string;
    action: string;
    subject: string;
  };
}

/** Creates the account tables that better-auth does not define. */
export const accounts: Migration = {
  name: "accounts",
  async run(db) {
    await db.schema.createTable("settings")
      .addColumn("name", "text", (column) => column.primaryKey())
      .addColumn("value", "text", (column) => column.notNull())
      .execute();
    await db.schema.createTable("personal_tokens")
      .addColumn("id", "text", (column) => column.primaryKey())
      .addColumn("token_hash", "text", (column) => column.notNull().unique())
      .addColumn("user_id", "text", (column) => column.notNull().references("user.id").onDelete("cascade"))
      .addColumn("account_id", "text", (column) => column.notNull().references("organization.id").onDelete("cascade"))
      .addColumn("name", "text", (column) => column.notNull())
      .addColumn("scopes", "text", (column) => column.notNull())
      .addColumn("created_at", "bigint", (column) => column.notNull())
      .addColumn("expires_at", "bigint")
      .addColumn("used_at", "bigint")
      .execute();
    await db.schema.createIndex("personal_tokens_user").on("personal_tokens").column("user_id").execute();
    await db.schema.createTable("audit_entries")
      .addColumn("id", "text", (column) => column.primaryKey())
      .addColumn("at", "bigint", (column) => column.notNull())
      .addColumn("account_id", "text")
      .addColumn("actor_id", "text")
      .addColumn("actor", "text", (column) => column.notNull())
      .addColumn("action", "text", (column) => column.notNull())
      .addColumn("subject", "text", (column) => column.notNull())
      .execute();
    await db.schema.createIndex("audit_entries_account").on("audit_entries").columns(["account_id", "at"]).execute();
    await db.schema.createIndex("audit_entries_at").on("audit_entries").column("at").execute();
  },
};
