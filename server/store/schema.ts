import type { Generated, Kysely } from "kysely";
import { sql } from "kysely";

/** The tables as Kysely sees them. Times are bigint milliseconds, which serve both databases. */
export interface Database {
  ephemeral_tunnels: {
    id: string;
    label: string;
    secret_hash: string;
    created_at: number;
    expires_at: number;
    bytes_used: Generated<number>;
    bytes_limit: number;
  };
  schema_version: { version: number };
}

type Migration = (db: Kysely<Database>) => Promise<void>;

/** Forward only: a migration that has landed is never changed, the next one mends it. */
const MIGRATIONS: readonly Migration[] = [
  async (db) => {
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
];

/**
 * Brings the schema up to date inside one transaction, which two servers starting at once take in turn.
 * @throws Error when the database was made by a newer version
 */
export async function migrate(db: Kysely<Database>): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await sql`create table if not exists schema_version (version integer not null)`.execute(transaction);
    const row = await transaction.selectFrom("schema_version").select("version").executeTakeFirst();
    const version = row?.version ?? 0;
    if (version > MIGRATIONS.length) {
      throw new Error(`it was made by a newer version (schema ${version})`);
    }
    for (const migration of MIGRATIONS.slice(version)) await migration(transaction);
    await transaction.deleteFrom("schema_version").execute();
    await transaction.insertInto("schema_version").values({ version: MIGRATIONS.length }).execute();
  });
}
