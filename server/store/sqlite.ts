import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { Kysely, type SqliteDatabase, SqliteDialect } from "kysely";
import { createEphemeralTunnels } from "./ephemeral_tunnels.ts";
import { type Database, migrate } from "./schema.ts";
import type { Store } from "./types.ts";

/** Enough for the commits of another server on the same folder. */
const LOCK_WAIT_MS = 1000;

/** The embedded driver: one file, write-ahead log, every commit on disk before it is answered. */
export async function openSqliteStore(dataDir: string | null): Promise<Store> {
  const path = dataDir === null ? ":memory:" : join(dataDir, "portway.db");
  try {
    if (dataDir !== null) mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    const db = await openDatabase(path);
    return { ephemeralTunnels: createEphemeralTunnels(db), close: () => db.destroy() };
  } catch (cause) {
    throw new Error(`cannot open the database ${path}: ${cause instanceof Error ? cause.message : cause}`, { cause });
  }
}

async function openDatabase(path: string): Promise<Kysely<Database>> {
  const file = new DatabaseSync(path);
  try {
    // The order matters: a second server that starts at once waits for the first one's lock.
    file.exec(
      "pragma busy_timeout = 5000; pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on",
    );
    const db = new Kysely<Database>({ dialect: new SqliteDialect({ database: adapt(file) }) });
    await migrate(db);
    // Waiting stops the whole process: a lock that somebody keeps costs one request, not all visitors' seconds.
    file.exec(`pragma busy_timeout = ${LOCK_WAIT_MS}`);
    return db;
  } catch (error) {
    file.close();
    throw error;
  }
}

/** What Kysely asks of a SQLite library, over node:sqlite. */
function adapt(file: DatabaseSync): SqliteDatabase {
  const statements = new Map<string, StatementSync>();
  const prepare = (sql: string) => {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const statement = file.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  return {
    close: () => file.close(),
    // Kysely opens transactions with a plain `begin`; `immediate` takes the write lock at once and cannot fail half-way.
    prepare: (sql) => adaptStatement(prepare(sql === "begin" ? "begin immediate" : sql)),
  };
}

function adaptStatement(statement: StatementSync): ReturnType<SqliteDatabase["prepare"]> {
  // node:sqlite takes numbers, text, bytes and null; the tables hold nothing else.
  const values = (parameters: readonly unknown[]) => parameters as SQLInputValue[];
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...values(parameters)),
    run: (parameters) => statement.run(...values(parameters)),
    iterate: (parameters) => statement.iterate(...values(parameters)),
  };
}
