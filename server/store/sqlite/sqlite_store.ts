import { explainError } from "../../../common/explain_error.ts";
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { Kysely, type SqliteDatabase, SqliteDialect } from "kysely";
import { claimFolder, type FolderClaim, makeFile } from "./claim_folder.ts";
import { StoreUnavailable } from "../errors.ts";
import { givesRows, isWriting } from "../statements.ts";
import { migrate } from "../migrate.ts";
import { createRecords } from "../records.ts";
import type { Database } from "../schema/mod.ts";
import type { Store } from "../types.ts";

/** Enough for the commits of another relay on the same folder. */
const LOCK_WAIT_MS = 1000;

/**
 * Views under load change a few thousand pages. Keeping those in memory, and checkpointing every 16 MB instead of 4,
 * costs a third less. SQLite allocates the memory on demand.
 */
const PACE = "pragma cache_size = -16000; pragma wal_autocheckpoint = 4000";

/**
 * Opens the embedded driver: one file with a write-ahead log; every commit reaches the disk before it returns.
 * @param dataDir the folder with the file; null for a database in memory
 * @param isAlone whether to claim the folder exclusively
 * @throws Error with the path when it cannot be opened
 */
export async function openSqliteStore(dataDir: string | null, isAlone = false): Promise<Store> {
  const path = dataDir === null ? ":memory:" : join(dataDir, "portway.db");
  let claim: FolderClaim | null = null;
  try {
    if (dataDir !== null) {
      mkdirSync(dataDir, { recursive: true, mode: 0o700 });
      if (isAlone) claim = claimFolder(dataDir);
      // Only the owner may read it, even in a folder that existed before. SQLite copies these permissions to the files
      // beside it.
      makeFile(path);
    }
    const watch = new StoreWatch(dataDir === null ? null : path);
    const db = await openDatabase(path, watch);
    watch.begin();
    const close = async () => {
      await db.destroy();
      claim?.release();
    };
    return { ...createRecords(db), db, dialect: "sqlite", failing: () => watch.failing, close };
  } catch (cause) {
    claim?.release();
    throw new Error(`cannot open the database ${path}: ${explainError(cause)}`, { cause });
  }
}

/** SQLite codes (https://sqlite.org/rescode.html) for failures of the machine: BUSY, LOCKED, NOMEM, READONLY, … */
const UNAVAILABLE: ReadonlySet<number> = new Set([5, 6, 7, 8, 10, 11, 13, 14, 26]);

/** Tracks whether the database stores data. */
class StoreWatch {
  readonly #path: string | null;
  /** The file's inode when it was opened. */
  #inode: number | null = null;
  #failure: string | null = null;
  #isInTransaction = false;

  /** @param path the database file, or null for one in memory */
  constructor(path: string | null) {
    this.#path = path;
  }

  /** Records the inode of the file, which exists from now on. */
  begin(): void {
    this.#inode = this.#readInode();
  }

  /** The reason why writes fail, or null. */
  get failing(): string | null {
    return this.#isLost() ? `the database ${this.#path} was deleted or replaced` : this.#failure;
  }

  /** Runs a statement. @throws StoreUnavailable, or the database's error about the statement itself */
  run<T>(sql: string, isWrite: boolean, action: () => T): T {
    // SQLite keeps writing to a file that lost its name, and those writes would be lost with this process.
    if (isWrite && this.#isLost()) throw new StoreUnavailable(this.failing ?? "");
    if (sql === BEGIN) this.#isInTransaction = true;
    else if (sql === COMMIT || sql === ROLLBACK) this.#isInTransaction = false;
    try {
      const result = action();
      // Inside a transaction a write only reaches memory: the commit shows whether the disk takes it.
      if (isWrite && !this.#isInTransaction) this.#failure = null;
      return result;
    } catch (cause) {
      if (!(cause instanceof Error && "errcode" in cause && UNAVAILABLE.has(Number(cause.errcode) & 0xff))) throw cause;
      this.#failure = cause.message;
      throw new StoreUnavailable(cause.message, { cause });
    }
  }

  #isLost(): boolean {
    return this.#inode !== null && this.#readInode() !== this.#inode;
  }

  #readInode(): number | null {
    return this.#path === null ? null : readFileNumber(this.#path);
  }
}

/**
 * Returns the inode of the file at a path, -1 if missing, and null where no check is needed: Windows prevents removing
 * or replacing an open database, and inodes on FAT may change.
 */
export function readFileNumber(path: string, platform: string = process.platform): number | null {
  return platform === "win32" ? null : statSync(path, { throwIfNoEntry: false })?.ino ?? -1;
}

/** The statements with which Kysely frames a transaction. */
const BEGIN = "begin", COMMIT = "commit", ROLLBACK = "rollback";

async function openDatabase(path: string, watch: StoreWatch): Promise<Kysely<Database>> {
  const file = new DatabaseSync(path);
  try {
    // The order matters: a second relay that starts simultaneously waits for the first one's lock.
    file.exec(
      "pragma busy_timeout = 5000; pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on",
    );
    // Only this makes macOS flush the drive's cache. Elsewhere a sync does, and the setting has no effect.
    file.exec("pragma fullfsync = on; pragma checkpoint_fullfsync = on");
    file.exec(PACE);
    const db = new Kysely<Database>({ dialect: new SqliteDialect({ database: adapt(file, watch) }) });
    await migrate(db, "sqlite");
    // Waiting blocks the whole process, so a held lock costs one request instead of seconds for all visitors.
    file.exec(`pragma busy_timeout = ${LOCK_WAIT_MS}`);
    return db;
  } catch (error) {
    file.close();
    throw error;
  }
}

/** Adapts node:sqlite to Kysely's interface. */
function adapt(file: DatabaseSync, watch: StoreWatch): SqliteDatabase {
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
    // Kysely opens transactions with a plain `begin`. `immediate` takes the write lock at once and cannot fail
    // half-way.
    prepare: (sql) => adaptStatement(sql, prepare(sql === BEGIN ? "begin immediate" : sql), watch),
  };
}

function adaptStatement(
  sql: string,
  statement: StatementSync,
  watch: StoreWatch,
): ReturnType<SqliteDatabase["prepare"]> {
  const isWrite = isWriting(sql);
  // node:sqlite accepts numbers, text, bytes and null, and the tables hold only these.
  const values = (parameters: readonly unknown[]) => parameters as SQLInputValue[];
  const run = (parameters: readonly unknown[]) => watch.run(sql, isWrite, () => statement.run(...values(parameters)));
  return {
    reader: givesRows(sql),
    all: (parameters) => watch.run(sql, isWrite, () => statement.all(...values(parameters))),
    run: sql === ROLLBACK ? (parameters) => rollBack(() => run(parameters)) : run,
    iterate: (parameters) => statement.iterate(...values(parameters)),
  };
}

/**
 * Rolls back unless SQLite already did. A full disk, an I/O error or missing memory ends the transaction by itself
 * (https://sqlite.org/lang_transaction.html), and a failing rollback would hide the original error.
 */
function rollBack<T>(run: () => T): T | typeof NOTHING_CHANGED {
  try {
    return run();
  } catch (error) {
    if (error instanceof Error && /no transaction is active/.test(error.message)) return NOTHING_CHANGED;
    throw error;
  }
}

const NOTHING_CHANGED = { changes: 0, lastInsertRowid: 0 };
