import { later } from "../../common/later.ts";
import type { PostgresAddress } from "./postgres_address.ts";
import type { Store } from "./types.ts";

/** The embedded database, or a PostgreSQL. */
export type StoreOptions =
  /**
   * The database folder; null keeps all data in memory until the process ends. `isAlone` refuses a second exclusive
   * store in the folder.
   */
  | { dataDir: string | null; isAlone?: boolean }
  /** The maximum of connections, which are opened on demand. */
  | { postgres: { address: PostgresAddress; maxConnections: number } };

/**
 * Opens the store and brings its schema up to date.
 * @throws Error for a folder that is not writable or in exclusive use, an unreachable database, or a database from a
 * newer version
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  if ("postgres" in options) {
    const { openPostgresStore }: typeof import("./postgres/mod.ts") = await import(later("./postgres/mod.ts"));
    return await openPostgresStore(options.postgres.address, options.postgres.maxConnections);
  }
  const { openSqliteStore } = await import("./sqlite/sqlite_store.ts");
  return await openSqliteStore(options.dataDir, options.isAlone);
}
