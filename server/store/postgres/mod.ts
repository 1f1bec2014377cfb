import { Kysely, sql } from "kysely";
import { migrate } from "../migrate.ts";
import { describeAddress, type PostgresAddress } from "../postgres_address.ts";
import { createRecords } from "../records.ts";
import type { Database } from "../schema/mod.ts";
import type { Store } from "../types.ts";
import { PostgresConnection } from "./connection.ts";
import { createPostgresDialect } from "./driver.ts";
import { PostgresWatch } from "./failures.ts";
import { Pool } from "./pool.ts";

/** Queries take milliseconds, so this one will not return. */
const QUERY_MS = 30_000;
/** A migration may rewrite a large table. */
const MIGRATION_MS = 24 * 60 * 60 * 1000;
const PROBE_MS = 1000;

/**
 * Opens the PostgreSQL driver. While the database is away, all methods throw {@link StoreUnavailable} at once or after
 * some seconds, and a probe checks once per second for its return.
 * @param maxConnections concurrent connections
 * @throws Error with a line for the operator when the database is unusable
 */
export async function openPostgresStore(address: PostgresAddress, maxConnections: number): Promise<Store> {
  let queryMs = MIGRATION_MS;
  const watch = new PostgresWatch(() => probe.begin());
  const pool = new Pool(maxConnections, () => new PostgresConnection({ address, watch, queryMs: () => queryMs }));
  const db = new Kysely<Database>({ dialect: createPostgresDialect(pool) });
  const probe = new Probe(db, watch);
  const close = async () => {
    probe.end();
    await db.destroy();
  };
  try {
    await migrate(db, "postgres");
  } catch (cause) {
    await close();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`cannot open the database ${describeAddress(address)}: ${reason}`, { cause });
  }
  queryMs = QUERY_MS;
  return { ...createRecords(db), db, dialect: "postgres", failing: () => watch.failing, close };
}

/** Checks whether an unreachable database has returned, because other queries are refused meanwhile. */
class Probe {
  readonly #db: Kysely<Database>;
  readonly #watch: PostgresWatch;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isEnded = false;

  constructor(db: Kysely<Database>, watch: PostgresWatch) {
    this.#db = db;
    this.#watch = watch;
  }

  begin(): void {
    if (this.#timer === undefined && !this.#isEnded) this.#timer = setTimeout(() => this.#ask(), PROBE_MS);
  }

  end(): void {
    this.#isEnded = true;
    clearTimeout(this.#timer);
  }

  async #ask(): Promise<void> {
    try {
      await sql`select 1`.execute(this.#db);
    } catch {
      // The watch recorded the reason.
    }
    this.#timer = undefined;
    if (this.#watch.isAway) this.begin();
  }
}
