import type { CompiledQuery, DatabaseConnection, QueryResult } from "kysely";
import postgres from "postgres";
import { StoreUnavailable } from "../errors.ts";
import { isWriting } from "../statements.ts";
import type { PostgresAddress } from "../postgres_address.ts";
import { type PostgresWatch, QueryLate } from "./failures.ts";

const CONNECT_SECONDS = 5;
/** Time for running queries while the connection ends. */
const END_SECONDS = 5;
const KEEP_ALIVE_SECONDS = 30;

/** The database address and the time limit for queries. */
export interface ConnectionOptions {
  address: PostgresAddress;
  watch: PostgresWatch;
  /** Returns the time limit; called for each query. */
  queryMs(): number;
}

/**
 * A connection, opened on first use. Each one is a library pool with a single connection: a larger pool returns a
 * broken reserved connection as if it worked, and the next query on it hangs.
 */
export class PostgresConnection implements DatabaseConnection {
  readonly #sql: postgres.Sql<{ bigint: number }>;
  readonly #options: ConnectionOptions;
  #lost: string | null = null;
  /** The timeout that ended the connection, if any. */
  #late: QueryLate | null = null;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#sql = postgres({
      ...connectOptions(options.address),
      types: { bigint: NUMBER },
      onclose: () => this.#lost ??= "the connection to the database broke",
    });
  }

  /** Whether the connection broke. Its transaction is lost, and no more queries use it. */
  get isLost(): boolean {
    return this.#lost !== null;
  }

  /** Runs a query. @throws StoreUnavailable, or the database's error about the query */
  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const { watch } = this.#options;
    // The library would continue on a new connection, outside the transaction.
    if (this.#lost !== null) throw new StoreUnavailable(this.#lost);
    try {
      const rows = await this.#inTime(this.#sql.unsafe<R[] & postgres.Row[]>(sql, [...toValues(parameters)], PREPARED));
      if (/^commit\b/i.test(sql) && rows.command === "ROLLBACK") throw new Error("the transaction was rolled back");
      watch.noteSuccess(isWriting(sql));
      return { rows: [...rows], numAffectedRows: BigInt(rows.count ?? 0) };
    } catch (error) {
      throw watch.explain(this.#late ?? error);
    }
  }

  /** Returns all rows at once, because no query here exceeds the memory. */
  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query);
  }

  /** Closes the connection after running queries finished, or after some seconds. */
  async end(): Promise<void> {
    await this.#sql.end({ timeout: this.#lost === null ? END_SECONDS : 0 });
  }

  async #inTime<T>(query: Promise<T>): Promise<T> {
    const ms = this.#options.queryMs();
    const timer = setTimeout(() => {
      this.#late = new QueryLate(`the database did not answer within ${ms / 1000} seconds`);
      this.#lost = this.#late.message;
      void this.#sql.end({ timeout: 0 });
    }, ms);
    try {
      return await query;
    } finally {
      clearTimeout(timer);
    }
  }
}

const PREPARED = { prepare: true };

/** Counts, sums and times fit into exact numbers. SQLite returns numbers as well. */
const NUMBER = { to: 20, from: [20, 1700], parse: Number, serialize: String };

function connectOptions(address: PostgresAddress): postgres.Options<Record<string, postgres.PostgresType>> {
  const { host, port, socketFolder, user, password, database, tls } = address;
  return {
    host,
    port,
    path: socketFolder === null ? undefined : `${socketFolder}/.s.PGSQL.${port}`,
    user,
    password,
    database,
    ssl: tls === "disable" ? false : tls,
    max: 1,
    connect_timeout: CONNECT_SECONDS,
    keep_alive: KEEP_ALIVE_SECONDS,
    // Both would end a connection between the statements of a transaction.
    idle_timeout: undefined,
    max_lifetime: null,
    backoff: () => 0,
    connection: { application_name: "portway" },
    onnotice: () => {},
  };
}

/** Kysely passes on the given values: numbers, text, bytes, times and null. */
function toValues(parameters: readonly unknown[]): readonly postgres.ParameterOrJSON<never>[] {
  return parameters as readonly postgres.ParameterOrJSON<never>[];
}
