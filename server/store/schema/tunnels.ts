import type { Migration } from "./types.ts";

/** Persistent tunnels and their traffic: by day per tunnel, and by month per user and account. */
export interface TunnelTables {
  tunnels: {
    id: string;
    account_id: string;
    user_id: string;
    name: string;
    label: string;
    default_port: number;
    /** JSON: "all", or a list of numbers. */
    allowed_ports: string;
    enabled: number;
    suspended: number;
    created_at: number;
  };
  tunnel_usage: { tunnel_id: string; day: string; bytes: number; requests: number };
  user_usage: { account_id: string; user_id: string; month: string; bytes: number };
}

/** Creates {@link TunnelTables}. */
export const tunnels: Migration = {
  name: "tunnels",
  async run(db) {
    await db.schema.createTable("tunnels")
      .addColumn("id", "text", (column) => column.primaryKey())
      .addColumn("account_id", "text", (column) => column.notNull())
      .addColumn("user_id", "text", (column) => column.notNull())
      .addColumn("name", "text", (column) => column.notNull())
      .addColumn("label", "text", (column) => column.notNull().unique())
      .addColumn("default_port", "integer", (column) => column.notNull())
      .addColumn("allowed_ports", "text", (column) => column.notNull())
      .addColumn("enabled", "integer", (column) => column.notNull())
      .addColumn("suspended", "integer", (column) => column.notNull())
      .addColumn("created_at", "bigint", (column) => column.notNull())
      .addUniqueConstraint("tunnels_name", ["account_id", "name"])
      .execute();
    await db.schema.createTable("tunnel_usage")
      .addColumn("tunnel_id", "text", (column) => column.notNull())
      .addColumn("day", "text", (column) => column.notNull())
      .addColumn("bytes", "bigint", (column) => column.notNull())
      .addColumn("requests", "bigint", (column) => column.notNull())
      .addPrimaryKeyConstraint("tunnel_usage_key", ["tunnel_id", "day"])
      .execute();
    await db.schema.createIndex("tunnel_usage_day").on("tunnel_usage").column("day").execute();
    await db.schema.createTable("user_usage")
      .addColumn("account_id", "text", (column) => column.notNull())
      .addColumn("user_id", "text", (column) => column.notNull())
      .addColumn("month", "text", (column) => column.notNull())
      .addColumn("bytes", "bigint", (column) => column.notNull())
      .addPrimaryKeyConstraint("user_usage_key", ["account_id", "user_id", "month"])
      .execute();
  },
};
