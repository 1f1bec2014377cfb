import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type TransactionSettings,
} from "kysely";
import { StoreUnavailable } from "../errors.ts";
import type { Pool } from "./pool.ts";

/** Creates the Kysely dialect for PostgreSQL over this pool. */
export function createPostgresDialect(pool: Pool): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new PostgresDriver(pool),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  };
}

class PostgresDriver implements Driver {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Connections open on first use. */
  init(): Promise<void> {
    return Promise.resolve();
  }

  acquireConnection(): Promise<DatabaseConnection> {
    return this.#pool.acquire();
  }

  releaseConnection(connection: DatabaseConnection): Promise<void> {
    this.#pool.release(connection);
    return Promise.resolve();
  }

  async beginTransaction(connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    const { isolationLevel, accessMode } = settings;
    const level = isolationLevel === undefined ? "" : ` isolation level ${isolationLevel}`;
    await run(connection, `begin${level}${accessMode === undefined ? "" : ` ${accessMode}`}`);
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await run(connection, "commit");
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    try {
      await run(connection, "rollback");
    } catch (error) {
      // The connection is lost, which ends its transaction. Throwing would hide the error that led to the rollback.
      if (!(error instanceof StoreUnavailable)) throw error;
    }
  }

  destroy(): Promise<void> {
    return this.#pool.end();
  }
}

async function run(connection: DatabaseConnection, text: string): Promise<void> {
  await connection.executeQuery(CompiledQuery.raw(text));
}
