import type { Kysely } from "kysely";
import type { Records } from "./records.ts";
import type { Database, Dialect } from "./schema/mod.ts";

/** All state of the server that outlives a restart. */
export interface Store extends Records {
  /** Why nothing can be kept now, or null: the disk is full, or somebody deleted the database. */
  fault(): string | null;
  /** The one handle on the database, for libraries that bring tables of their own. */
  readonly db: Kysely<Database>;
  /** Which database it is. */
  readonly dialect: Dialect;
  close(): Promise<void>;
}
