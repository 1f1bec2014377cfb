import type { Kysely, Selectable } from "kysely";
import { TooManyTokens } from "../errors.ts";
import type { Database } from "../schema/mod.ts";
import { takeTurns } from "../take_turns.ts";

/** A token that a user created for a program. Times are Unix milliseconds. */
export interface PersonalToken {
  id: string;
  /** The SHA-256 hash, base64url. */
  tokenHash: string;
  userId: string;
  /** The only account for which it is valid. */
  accountId: string;
  /** The user's name for it. */
  name: string;
  scopes: string[];
  createdAt: number;
  /** Null for a token without an expiry. */
  expiresAt: number | null;
  /** The last use, accurate to about a minute; null for an unused token. */
  usedAt: number | null;
}

/** Personal tokens. */
export interface PersonalTokens {
  /** Stores a token. @param limit tokens per user @throws TooManyTokens */
  insert(token: PersonalToken, limit: number): Promise<void>;
  /** Finds a token by its hash, even an expired one. */
  findByHash(tokenHash: string): Promise<PersonalToken | null>;
  /** Lists a user's tokens, the newest first. */
  list(userId: string): Promise<PersonalToken[]>;
  /** Records a use. @param at Unix milliseconds */
  setUsed(id: string, at: number): Promise<void>;
  /** Removes all tokens of a user, those for one account, or a single one. Returns their number. */
  remove(which: { userId: string; accountId?: string; id?: string }): Promise<number>;
}

/** Creates personal tokens for either database. */
export function createPersonalTokens(db: Kysely<Database>): PersonalTokens {
  return {
    insert: (token, limit) =>
      takeTurns(db, `tokens ${token.userId}`, async (transaction) => {
        const { count } = await transaction.selectFrom("personal_tokens").where("user_id", "=", token.userId)
          .select((from) => from.fn.countAll().as("count")).executeTakeFirstOrThrow();
        if (Number(count) >= limit) throw new TooManyTokens(`the user has ${count} tokens`);
        await transaction.insertInto("personal_tokens").values(toRow(token)).execute();
      }),
    async findByHash(tokenHash) {
      const row = await db.selectFrom("personal_tokens").selectAll().where("token_hash", "=", tokenHash)
        .executeTakeFirst();
      return row === undefined ? null : fromRow(row);
    },
    async list(userId) {
      const rows = await db.selectFrom("personal_tokens").selectAll().where("user_id", "=", userId)
        .orderBy("created_at", "desc").orderBy("id").execute();
      return rows.map(fromRow);
    },
    async setUsed(id, at) {
      await db.updateTable("personal_tokens").set({ used_at: at }).where("id", "=", id).execute();
    },
    async remove({ userId, accountId, id }) {
      let tokens = db.deleteFrom("personal_tokens").where("user_id", "=", userId);
      if (accountId !== undefined) tokens = tokens.where("account_id", "=", accountId);
      if (id !== undefined) tokens = tokens.where("id", "=", id);
      return Number((await tokens.executeTakeFirst()).numDeletedRows);
    },
  };
}

function toRow(token: PersonalToken): Selectable<Database["personal_tokens"]> {
  return {
    id: token.id,
    token_hash: token.tokenHash,
    user_id: token.userId,
    account_id: token.accountId,
    name: token.name,
    scopes: token.scopes.join(" "),
    created_at: token.createdAt,
    expires_at: token.expiresAt,
    used_at: token.usedAt,
  };
}

function fromRow(row: Selectable<Database["personal_tokens"]>): PersonalToken {
  return {
    id: row.id,
    tokenHash: row.token_hash,
    userId: row.user_id,
    accountId: row.account_id,
    name: row.name,
    scopes: row.scopes.split(" ").filter((scope) => scope !== ""),
    createdAt: Number(row.created_at),
    expiresAt: row.expires_at === null ? null : Number(row.expires_at),
    usedAt: row.used_at === null ? null : Number(row.used_at),
  };
}
