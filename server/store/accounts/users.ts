import { type Kysely, sql } from "kysely";
import type { Database, Switch } from "../schema/mod.ts";

/** A user. */
export interface User {
  id: string;
  name: string;
  email: string;
  /** May manage the whole server. */
  isAdmin: boolean;
  /** May do nothing until an admin lets them again. */
  isSuspended: boolean;
}

/** A user, and since when. */
export interface KnownUser extends User {
  /** Unix milliseconds. */
  createdAt: number;
}

/** Who can sign in. */
export interface UserRecords {
  hasUsers(): Promise<boolean>;
  findUser(id: string): Promise<User | null>;
  /** By an address in lower case. */
  findUserByEmail(email: string): Promise<User | null>;
  /** A page of users by name, and how many there are. `search` is a part of a name or an address. */
  listUsers(query: { search: string; offset: number; limit: number }): Promise<{ users: KnownUser[]; total: number }>;
}

/** Users in either database. */
export function createUsers(db: Kysely<Database>): UserRecords {
  return {
    async hasUsers() {
      return await db.selectFrom("user").select("id").limit(1).executeTakeFirst() !== undefined;
    },
    async findUser(id) {
      const row = await db.selectFrom("user").select(USER).where("id", "=", id).executeTakeFirst();
      return row === undefined ? null : readUser(row);
    },
    async findUserByEmail(email) {
      const row = await db.selectFrom("user").select(USER).where("email", "=", email).executeTakeFirst();
      return row === undefined ? null : readUser(row);
    },
    async listUsers({ search, offset, limit }) {
      const part = `%${search.toLowerCase().replace(/[\\%_]/g, "\\$&")}%`;
      const users = db.selectFrom("user").where((is) =>
        is.or([
          sql<boolean>`lower(name) like ${part} escape ${"\\"}`,
          sql<boolean>`email like ${part} escape ${"\\"}`,
        ])
      );
      const { total } = await users.select((from) => from.fn.countAll().as("total")).executeTakeFirstOrThrow();
      const rows = await users.select([...USER, "createdAt"]).orderBy("name").orderBy("id").offset(offset).limit(limit)
        .execute();
      const found = rows.map((row) => ({ ...readUser(row), createdAt: new Date(row.createdAt).getTime() }));
      return { users: found, total: Number(total) };
    },
  };
}

const USER = ["id", "name", "email", "isAdmin", "suspended"] as const;

function readUser(
  row: { id: string; name: string; email: string; isAdmin: Switch; suspended: Switch },
): User {
  const { id, name, email } = row;
  return { id, name, email, isAdmin: Boolean(row.isAdmin), isSuspended: Boolean(row.suspended) };
}
