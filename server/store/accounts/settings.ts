import type { Kysely } from "kysely";
import type { Database } from "../schema/mod.ts";

/** What the server made up for itself once and keeps, by name. */
export interface Settings {
  /** The value that is there, or `value`, which then stays: several servers on one database agree. */
  getOrAdd(name: string, value: string): Promise<string>;
}

/** Settings in either database. */
export function createSettings(db: Kysely<Database>): Settings {
  return {
    async getOrAdd(name, value) {
      await db.insertInto("settings").values({ name, value }).onConflict((row) => row.column("name").doNothing())
        .execute();
      return (await db.selectFrom("settings").select("value").where("name", "=", name).executeTakeFirstOrThrow()).value;
    },
  };
}
