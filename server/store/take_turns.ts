import { type Kysely, PostgresAdapter, sql, type Transaction } from "kysely";
import type { Database } from "./schema/mod.ts";

/**
 * Runs a transaction whose check counts rows. Transactions with the same topic run one after the other, so each one
 * counts the changes before it. SQLite runs all transactions like this; PostgreSQL takes an advisory lock.
 * @param topic the rule and its owner, such as `tunnels <account>`
 */
export async function takeTurns<T>(
  db: Kysely<Database>,
  topic: string,
  change: (transaction: Transaction<Database>) => Promise<T>,
): Promise<T> {
  return await db.transaction().execute(async (transaction) => {
    if (transaction.getExecutor().adapter instanceof PostgresAdapter) {
      await sql`select pg_advisory_xact_lock(hashtextextended(${topic}, 0))`.execute(transaction);
    }
    return await change(transaction);
  });
}
