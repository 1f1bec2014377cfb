import type { Kysely } from "kysely";

/** The supported databases, named as in Kysely and better-auth. */
export type Dialect = "sqlite" | "postgres";

/** A migration. After it landed it is never changed; a new one corrects it. */
export interface Migration {
  /** The permanent, unique name under which a database records the migration. */
  readonly name: string;
  /**
   * Runs inside the transaction for all migrations. The handle knows no tables, because the current definitions differ
   * from those that earlier migrations created. Declare them by `db.$extendTables<…>()`.
   */
  run(db: Kysely<Record<never, never>>, dialect: Dialect): Promise<void>;
}
