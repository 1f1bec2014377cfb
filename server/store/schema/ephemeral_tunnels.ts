import type { Generated } from "kysely";
import type { Migration } from "./types.ts";

/** Ephemeral tunnels. Times are Unix milliseconds. Only hashes of secrets are stored. */
export interface EphemeralTunnelTables {
  ephemeral_tunnels: {
    id: string;
    label: string;
    secret_hash: string;
    created_at: number;
    expires_at: number;
    bytes_used: Generated<number>;
    bytes_limit: number;
  };
}

/** Creates {@link EphemeralTunnelTables}. */
export const ephemeralTunnels: Migration = {
  name: "ephemeral_tunnels",
  async run(db) {
    await db.schema.createTable("ephemeral_tunnels")
      .addColumn("id", "text", (column) => column.primaryKey())
      .addColumn("label", "text", (column) => column.notNull().unique())
      .addColumn("secret_hash", "text", (column) => column.notNull())
      .addColumn("created_at", "bigint", (column) => column.notNull())
      .addColumn("expires_at", "bigint", (column) => column.notNull())
      .addColumn("bytes_used", "bigint", (column) => column.notNull().defaultTo(0))
      .addColumn("bytes_limit", "bigint", (column) => column.notNull())
      .execute();
    await db.schema.createIndex("ephemeral_tunnels_expiry").on("ephemeral_tunnels").column("expires_at").execute();
  },
};
