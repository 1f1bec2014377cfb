import { later } from "../../common/later.ts";
import type { PostgresAddress } from "./postgres_address.ts";
import type { Store } from "./types.ts";

/** The embedded database, or a PostgreSQL. */
export type StoreOptions =
  /**
   * Its folder, or null for one in memory that ends with the process; `isAlone` when no other such store may be open in
   * that folder.
   */
  | { dataDir: string | null; isAlone?: boolean }
  /** Connections are opened as they are needed, up to that number. */
  | { postgres: { address: PostgresAddress; maxConnections: number } };

/**
 * Opens the store and brings its schema up to date.
 * @throws Error when the folder cannot be written or another has it alone, the database cannot be reached, or a newer
 * version made it
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  if ("postgres" in options) {
    const { openPostgresStore }: typeof import("./postgres/mod.ts") = await import(later("./postgres/mod.ts"));
    return await openPostgresStore(options.postgres.address, options.postgres.maxConnections);
  }
  const { openSqliteStore } = await import("./sqlite/sqlite_store.ts");
  return await openSqliteStore(options.dataDir, options.isAlone);
}
