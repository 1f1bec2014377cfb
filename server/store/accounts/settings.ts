import type { Kysely } from "kysely";
import type { Database } from "../schema/mod.ts";

/** The setting with the hash of the set-up link's token. Using the link removes it. */
export const SET_UP = "set_up";

/** Values that the server generated, by name. */
export interface Settings {
  get(name: string): Promise<string | null>;
  /** Replaces the value. */
  set(name: string, value: string): Promise<void>;
  /** Returns the stored value, or stores `value` if missing. Several servers on one database agree on the result. */
  getOrAdd(name: string, value: string): Promise<string>;
}

/** Creates settings for either database. */
export function createSettings(db: Kysely<Database>): Settings {
  const get = async (name: string) =>
    (await db.selectFrom("settings").select("value").where("name", "=", name).executeTakeFirst())?.value ?? null;
  return {
    get,
    async set(name, value) {
      await db.insertInto("settings").values({ name, value })
        .onConflict((conflict) => conflict.column("name").doUpdateSet({ value })).execute();
    },
    async getOrAdd(name, value) {
      await db.insertInto("settings").values({ name, value }).onConflict((row) => row.column("name").doNothing())
        .execute();
      return await get(name) ?? value;
    },
  };
}
