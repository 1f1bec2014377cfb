import { type Kysely, sql, type Transaction } from "kysely";
import { type Database, type Dialect, type Migration, MIGRATIONS } from "./schema/mod.ts";

/** The number of a database that goes by the names of its steps. */
const BY_NAME = 2;
/** What the number 1 stood for. */
const BEFORE_NAMES = "ephemeral_tunnels";
/** Any number that nobody else's programs take on the same PostgreSQL: "portway" as digits of a telephone. */
const LOCK = 7_678_929;

/**
 * Brings the schema up to date inside one transaction, which two servers starting at once take in turn.
 * @param migrations every step there is, in order
 * @throws Error when the database was made by a newer version
 */
export async function migrate(db: Kysely<Database>, dialect: Dialect, migrations = MIGRATIONS): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    // SQLite's transactions are one at a time anyway.
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

/** The names of what was done before. A database of ours that knows only a number is taken over. */
async function readDone(db: Transaction<Database>): Promise<Set<string>> {
  await sql`create table if not exists schema_version (version integer not null)`.execute(db);
  await sql`create table if not exists migrations (name text primary key, done_at bigint not null)`.execute(db);
  const version = (await db.selectFrom("schema_version").select("version").executeTakeFirst())?.version ?? 0;
  if (version > BY_NAME) throw new Error(`it was made by a newer version (schema ${version})`);
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
  if (unknown.length > 0) throw new Error(`it was made by a newer version (schema ${unknown.join(", ")})`);
}
