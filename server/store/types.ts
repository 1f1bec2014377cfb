import type { Kysely } from "kysely";
import type { Records } from "./records.ts";
import type { Database, Dialect } from "./schema/mod.ts";

/** The server's state that outlives a restart. */
export interface Store extends Records {
  /**
   * Why the last write failed, in one line, or null while writes succeed: the disk is full, the database is away, or
   * its file was deleted. Cheap enough for every health check.
   */
  failing(): string | null;
  /** The database handle, for libraries with their own tables. */
  readonly db: Kysely<Database>;
  /** The kind of database. */
  readonly dialect: Dialect;
  close(): Promise<void>;
}
