import { type Kysely, sql, type Transaction } from "kysely";
import { type Database, type Dialect, type Migration, MIGRATIONS } from "./schema/mod.ts";

/** The version of a database that records migrations by name. */
const BY_NAME = 2;
/** The migration that version 1 denotes. */
const BEFORE_NAMES = "ephemeral_tunnels";
/**
 * An arbitrary lock number that other programs on the same PostgreSQL are unlikely to use: "portway" on a telephone
 * keypad.
 */
const LOCK = 7_678_929;

/**
 * Brings the schema up to date in one transaction. Two servers that start simultaneously take turns.
 * @param migrations every step, in order
 * @throws Error for a database from a newer version
 */
export async function migrate(db: Kysely<Database>, dialect: Dialect, migrations = MIGRATIONS): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    // SQLite runs one transaction at a time anyway.
    if (dialect === "postgres") await sql`select pg_advisory_xact_lock(${sql.lit(LOCK)})`.execute(transaction);
    const done = await readDone(transaction);
    refuseNewer(done, migrations);
    for (const migration of migrations) {
      if (done.has(migration.name)) continue;
      await migration.run(transaction.$pickTables<never>(), dialect);
      await note(transaction, migration.name);
    }
  });
}

/** Returns the names of completed migrations. A database with only a version number is converted. */
async function readDone(db: Transaction<Database>): Promise<Set<string>> {
  await sql`create table if not exists schema_version (version integer not null)`.execute(db);
  await sql`create table if not exists migrations (name text primary key, done_at bigint not null)`.execute(db);
  const version = (await db.selectFrom("schema_version").select("version").executeTakeFirst())?.version ?? 0;
  if (version > BY_NAME) throw new Error(`a newer version created it (schema ${version})`);
  if (version === 1) await note(db, BEFORE_NAMES);
  if (version < BY_NAME) {
    await db.deleteFrom("schema_version").execute();
    await db.insertInto("schema_version").values({ version: BY_NAME }).execute();
  }
  return new Set((await db.selectFrom("migrations").select("name").execute()).map(({ name }) => name));
}

async function note(db: Transaction<Database>, name: string): Promise<void> {
  await db.insertInto("migrations").values({ name, done_at: Date.now() }).execute();
}

function refuseNewer(done: ReadonlySet<string>, migrations: readonly Migration[]): void {
  const known = new Set(migrations.map(({ name }) => name));
  const unknown = [...done].filter((name) => !known.has(name));
  if (unknown.length > 0) throw new Error(`a newer version created it (schema ${unknown.join(", ")})`);
}
