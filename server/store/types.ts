import type { Kysely } from "kysely";
import type { Records } from "./records.ts";
import type { Database, Dialect } from "./schema/mod.ts";

/** All state of the server that outlives a restart. */
export interface Store extends Records {
  /**
   * Why the last write failed, in one line, or null while writes succeed: the disk is full, the database is away, or its
   * file was deleted. Cheap enough for every health check.
   */
  failing(): string | null;
  /** The one handle on the database, for libraries that bring tables of their own. */
  readonly db: Kysely<Database>;
  /** Which database it is. */
  readonly dialect: Dialect;
  close(): Promise<void>;
}
