import type { CompiledQuery, DatabaseConnection, QueryResult } from "kysely";
import postgres from "postgres";
import { StoreUnavailable } from "../errors.ts";
import { isWriting } from "../statements.ts";
import type { PostgresAddress } from "../postgres_address.ts";
import { type PostgresWatch, QueryLate } from "./failures.ts";

const CONNECT_SECONDS = 5;
/** Time for what is asked while the connection ends. */
const END_SECONDS = 5;
const KEEP_ALIVE_SECONDS = 30;

/** Which PostgreSQL a connection is to, and how long it may take to answer. */
export interface ConnectionOptions {
  address: PostgresAddress;
  watch: PostgresWatch;
  /** Time for an answer; looked at anew for each query. */
  queryMs(): number;
}

/**
 * One connection, made when it is first used. It is a pool of one of the library's: in a larger one a connection that
 * broke while it was reserved comes back as if it worked, and the next query on it hangs.
 */
export class PostgresConnection implements DatabaseConnection {
  readonly #sql: postgres.Sql<{ bigint: number }>;
  readonly #options: ConnectionOptions;
  #lost: string | null = null;
  /** Why it was given up, if it was. */
  #late: QueryLate | null = null;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#sql = postgres({
      ...connectOptions(options.address),
      types: { bigint: NUMBER },
      onclose: () => this.#lost ??= "the connection to the database broke",
    });
  }

  /** Whether it broke: what was begun on it is gone, and nothing more goes over it. */
  get isLost(): boolean {
    return this.#lost !== null;
  }

  /** @throws StoreUnavailable, or what the database says of the query */
  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const { watch } = this.#options;
    // The library would go on over a fresh connection, outside of the transaction that this one was in.
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

  /** All rows at once: nothing of ours asks for more than fit into memory. */
  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query);
  }

  /** Ends it when what is asked has been answered, or some seconds later. */
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

/** Counts, sums and times are within what a number holds exactly; SQLite gives numbers as well. */
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
    // Both end a connection between the statements of a transaction.
    idle_timeout: undefined,
    max_lifetime: null,
    backoff: () => 0,
    connection: { application_name: "portway" },
    onnotice: () => {},
  };
}

/** Kysely passes what we gave it: numbers, text, bytes, times and null. */
function toValues(parameters: readonly unknown[]): readonly postgres.ParameterOrJSON<never>[] {
  return parameters as readonly postgres.ParameterOrJSON<never>[];
}
