import type { Kysely } from "kysely";

/** The databases that we speak to, as Kysely and better-auth call them. */
export type Dialect = "sqlite" | "postgres";

/** One step of the schema. Once it has landed it is never changed: the next one mends it. */
export interface Migration {
  /** Unique for ever: a database remembers by it what was done. */
  readonly name: string;
  /**
   * Does the step, inside the transaction of all of them. The handle knows no tables, as those of today are not those
   * that the steps before made: `db.$extendTables<…>()` tells it.
   */
  run(db: Kysely<Record<never, never>>, dialect: Dialect): Promise<void>;
}
