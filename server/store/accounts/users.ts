import { type Kysely, sql, type Transaction } from "kysely";
import type { Database, Switch } from "../schema/mod.ts";
import { takeTurns } from "../take_turns.ts";
import { insertAccount, type NewAccount } from "./members.ts";
import { SET_UP } from "./settings.ts";

/** A user. */
export interface User {
  id: string;
  name: string;
  email: string;
  /** Whether the user manages the whole server. */
  isAdmin: boolean;
  /** Whether an admin suspended the user. */
  isSuspended: boolean;
}

/** A user with the time of creation. */
export interface KnownUser extends User {
  /** Unix milliseconds. */
  createdAt: number;
}

/** A user with a password and a new account. */
export interface NewUser extends Omit<NewAccount, "userId" | "accountName"> {
  /** The name for both the user and the account. */
  name: string;
  /** Lower case. */
  email: string;
  passwordHash: string;
  isAdmin: boolean;
}

/** The condition for creating a user. */
export type NewUserCondition =
  | "always"
  /** Only as the first user. */
  | "first"
  /** Only as the first user, through the set-up link with this hash, which is used up. */
  | { setUpHash: string };

/** Users. */
export interface UserRecords {
  /**
   * Creates a user. @returns the id, or the reason for a refusal: the address is in use, or the condition is not met
   */
  addUser(user: NewUser, condition: NewUserCondition): Promise<{ id: string } | "email_taken" | "refused">;
  /**
   * Changes a user as an admin. At least one active admin stays.
   * @param actorId the acting user, who still has to be an admin
   */
  changeUser(
    actorId: string,
    userId: string,
    change: { isAdmin?: boolean; isSuspended?: boolean },
  ): Promise<"done" | "not_found" | "not_allowed" | "last_admin">;
  hasUsers(): Promise<boolean>;
  findUser(id: string): Promise<User | null>;
  /** Finds a user by an address in lower case. */
  findUserByEmail(email: string): Promise<User | null>;
  /** Returns a page of users, sorted by name, and their total. `search` is a part of a name or address. */
  listUsers(query: { search: string; offset: number; limit: number }): Promise<{ users: KnownUser[]; total: number }>;
}

/** Creates users for either database. */
export function createUsers(db: Kysely<Database>): UserRecords {
  return {
    addUser: (user, condition) => addUser(db, user, condition),
    changeUser: (actorId, userId, change) =>
      takeTurns(db, "admins", (transaction) => changeUser(transaction, actorId, userId, change)),
    hasUsers: () => hasUsers(db),
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

async function hasUsers(db: Kysely<Database>): Promise<boolean> {
  return await db.selectFrom("user").select("id").limit(1).executeTakeFirst() !== undefined;
}

async function addUser(
  db: Kysely<Database>,
  user: NewUser,
  condition: NewUserCondition,
): Promise<{ id: string } | "email_taken" | "refused"> {
  if (condition === "always") return await db.transaction().execute((transaction) => insertUser(transaction, user));
  return await takeTurns(db, "first user", async (transaction) => {
    if (await hasUsers(transaction)) return "refused";
    const setUp = transaction.deleteFrom("settings").where("name", "=", SET_UP);
    const used = await (condition === "first" ? setUp : setUp.where("value", "=", condition.setUpHash))
      .executeTakeFirst();
    if (condition !== "first" && used.numDeletedRows === 0n) return "refused";
    return await insertUser(transaction, user);
  });
}

async function insertUser(db: Transaction<Database>, user: NewUser): Promise<{ id: string } | "email_taken"> {
  const { name, email, passwordHash, isAdmin } = user, id = crypto.randomUUID(), now = new Date().toISOString();
  const { numInsertedOrUpdatedRows } = await db.insertInto("user").values({
    id,
    name,
    email,
    emailVerified: switchOf(false),
    createdAt: now,
    updatedAt: now,
    isAdmin: switchOf(isAdmin),
    suspended: switchOf(false),
  }).onConflict((conflict) => conflict.column("email").doNothing()).executeTakeFirst();
  if (numInsertedOrUpdatedRows === 0n) return "email_taken";
  await db.insertInto("account").values({
    id: crypto.randomUUID(),
    accountId: id,
    providerId: "credential",
    userId: id,
    password: passwordHash,
    createdAt: now,
    updatedAt: now,
  }).execute();
  await insertAccount(db, { ...user, userId: id, accountName: name });
  return { id };
}

async function changeUser(
  db: Transaction<Database>,
  actorId: string,
  userId: string,
  { isAdmin, isSuspended }: { isAdmin?: boolean; isSuspended?: boolean },
): Promise<"done" | "not_found" | "not_allowed" | "last_admin"> {
  const rows = await db.selectFrom("user").select(["id", "isAdmin", "suspended"])
    .where((user) => user.or([user("isAdmin", "=", switchOf(true)), user("id", "=", userId)])).execute();
  const isActive = (row: { isAdmin: Switch; suspended: Switch }) => Boolean(row.isAdmin) && !row.suspended;
  const admins = rows.filter(isActive), user = rows.find(({ id }) => id === userId);
  if (user === undefined) return "not_found";
  if (!admins.some(({ id }) => id === actorId)) return "not_allowed";
  const stays = isActive(user) && isAdmin !== false && isSuspended !== true;
  if (!stays && admins.every(({ id }) => id === userId)) return "last_admin";
  await db.updateTable("user").set({
    updatedAt: new Date().toISOString(),
    ...(isAdmin !== undefined && { isAdmin: switchOf(isAdmin) }),
    ...(isSuspended !== undefined && { suspended: switchOf(isSuspended) }),
  }).where("id", "=", userId).execute();
  return "done";
}

/** Returns a boolean in the form that both databases store. */
function switchOf(isOn: boolean) {
  return sql<Switch>`cast(${sql.lit(isOn ? 1 : 0)} as boolean)`;
}

const USER = ["id", "name", "email", "isAdmin", "suspended"] as const;

function readUser(
  row: { id: string; name: string; email: string; isAdmin: Switch; suspended: Switch },
): User {
  const { id, name, email } = row;
  return { id, name, email, isAdmin: Boolean(row.isAdmin), isSuspended: Boolean(row.suspended) };
}
