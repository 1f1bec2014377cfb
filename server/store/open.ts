import type { Store } from "./types.ts";

export interface StoreOptions {
  /** Folder of the embedded database, or null for one in memory that ends with the process. */
  dataDir: string | null;
}

/**
 * Opens the store and brings its schema up to date.
 * @throws Error when the folder cannot be written or the database was made by a newer version
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { openSqliteStore } = await import("./sqlite.ts");
  return await openSqliteStore(options.dataDir);
}
