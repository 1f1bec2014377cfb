import type { Store } from "./types.ts";

export interface StoreOptions {
  /** Folder of the embedded database, or null for one in memory that ends with the process. */
  dataDir: string | null;
  /** A PostgreSQL that is used instead of the embedded one. */
  postgres?: {
    /** `postgres://…`, with the password in it. */
    url: string;
    maxConnections: number;
  };
}

/**
 * Opens the store and brings its schema up to date.
 * @throws Error when the folder cannot be written, the database cannot be reached, or a newer version made it
 */
export async function openStore({ dataDir, postgres }: StoreOptions): Promise<Store> {
  if (postgres !== undefined) {
    const { openPostgresStore } = await import("./postgres/mod.ts");
    return await openPostgresStore(postgres.url, postgres.maxConnections);
  }
  const { openSqliteStore } = await import("./sqlite.ts");
  return await openSqliteStore(dataDir);
}
