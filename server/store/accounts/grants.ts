import type { Kysely } from "kysely";
import type { Database, Moment, TextList } from "../schema/mod.ts";

/** A client's login with all its tokens. Times are Unix milliseconds. */
export interface Grant {
  /** Shared by all tokens in the grant. */
  grantId: string;
  clientId: string;
  userId: string;
  accountId: string | null;
  scopes: string[];
  createdAt: number;
  expiresAt: number;
}

const GRANT_TABLES = ["oauthAccessToken", "oauthRefreshToken"] as const;

/** Reads grants. */
export interface GrantReads {
  /** Finds a grant by the hash of an access token. */
  findGrant(tokenHash: string): Promise<Grant | null>;
  /** Finds a token's grant by its hash. The token may be an access token, or a refresh token that is used or not. */
  findGrantOf(tokenHash: string): Promise<{ grantId: string; userId: string } | null>;
  /** Returns the user who owns a grant's tokens; null without tokens. */
  findGrantUser(grantId: string): Promise<string | null>;
  /** Finds the grant of a refresh token that was used up before `time`; null for any other token. */
  findReplayed(tokenHash: string, time: number): Promise<Grant | null>;
  /** Returns the user code for a device code, by which the user allows the device; null for an unknown one. */
  findUserCode(deviceCode: string): Promise<string | null>;
  /** Lists a user's valid grants, the newest first. */
  listGrants(userId: string): Promise<Grant[]>;
}

/** Creates the reading functions for either database. */
export function createGrantReads(db: Kysely<Database>): GrantReads {
  return {
    async findGrant(tokenHash) {
      const row = await db.selectFrom("oauthAccessToken").select(GRANT).where("token", "=", tokenHash)
        .executeTakeFirst();
      return row === undefined ? null : readGrant(row);
    },
    async findGrantOf(tokenHash) {
      for (const table of GRANT_TABLES) {
        const row = await db.selectFrom(table).select(["authorizationCodeId as grantId", "userId"])
          .where("token", "=", tokenHash).executeTakeFirst();
        if (row === undefined) continue;
        const { grantId, userId } = row;
        return grantId === null || userId === null ? null : { grantId, userId };
      }
      return null;
    },
    async findGrantUser(grantId) {
      for (const table of GRANT_TABLES) {
        const row = await db.selectFrom(table).select("userId").where("authorizationCodeId", "=", grantId)
          .executeTakeFirst();
        if (row !== undefined) return row.userId;
      }
      return null;
    },
    async findReplayed(tokenHash, time) {
      const row = await db.selectFrom("oauthRefreshToken").select([...GRANT, "revoked"]).where("token", "=", tokenHash)
        .executeTakeFirst();
      const isReplayed = row !== undefined && row.revoked !== null && new Date(row.revoked).getTime() < time;
      return isReplayed ? readGrant(row) : null;
    },
    async findUserCode(deviceCode) {
      const row = await db.selectFrom("deviceCode").select("userCode").where("deviceCode", "=", deviceCode)
        .executeTakeFirst();
      return row?.userCode ?? null;
    },
    async listGrants(userId) {
      const rows = await db.selectFrom("oauthRefreshToken").select(GRANT).where("userId", "=", userId)
        .where("revoked", "is", null).execute();
      return rows.map(readGrant).filter((grant): grant is Grant => grant !== null)
        .toSorted((a, b) => b.createdAt - a.createdAt);
    },
  };
}

/** Changes grants. */
export interface GrantChanges {
  /** Moves a grant's tokens to another account. */
  moveGrant(grantId: string, accountId: string): Promise<void>;
  /** Gives tokens from a device, which have no authorization code, a common grant. */
  nameGrant(tokenHash: string, grantId: string, accountId: string): Promise<void>;
  /** Ends a user's grants, those for one account, or a single one. */
  endGrants(which: { userId: string; accountId?: string } | { grantId: string }): Promise<void>;
}

/** Creates the changing functions for either database. */
export function createGrantChanges(db: Kysely<Database>): GrantChanges {
  return {
    async moveGrant(grantId, accountId) {
      for (const table of GRANT_TABLES) {
        await db.updateTable(table).set({ referenceId: accountId }).where("authorizationCodeId", "=", grantId)
          .execute();
      }
    },
    async nameGrant(tokenHash, grantId, accountId) {
      const values = { authorizationCodeId: grantId, referenceId: accountId };
      for (const table of GRANT_TABLES) {
        await db.updateTable(table).set(values).where("token", "=", tokenHash)
          .where("authorizationCodeId", "is", null).execute();
      }
    },
    async endGrants(which) {
      // Deleting a refresh token also deletes its access tokens.
      for (const table of GRANT_TABLES) {
        let grants = db.deleteFrom(table);
        if ("grantId" in which) grants = grants.where("authorizationCodeId", "=", which.grantId);
        else {
          grants = grants.where("userId", "=", which.userId);
          if (which.accountId !== undefined) grants = grants.where("referenceId", "=", which.accountId);
        }
        await grants.execute();
      }
    },
  };
}

const GRANT = [
  "id",
  "authorizationCodeId",
  "clientId",
  "userId",
  "referenceId",
  "scopes",
  "createdAt",
  "expiresAt",
] as const;

interface GrantRow {
  id: string;
  authorizationCodeId: string | null;
  clientId: string;
  userId: string | null;
  referenceId: string | null;
  scopes: TextList;
  createdAt: Moment;
  expiresAt: Moment;
}

function readGrant(row: GrantRow): Grant | null {
  if (row.userId === null) return null;
  return {
    grantId: row.authorizationCodeId ?? row.id,
    clientId: row.clientId,
    userId: row.userId,
    accountId: row.referenceId,
    scopes: readTexts(row.scopes),
    createdAt: new Date(row.createdAt).getTime(),
    expiresAt: new Date(row.expiresAt).getTime(),
  };
}

function readTexts(list: TextList): string[] {
  const value: unknown = typeof list === "string" ? JSON.parse(list) : list;
  return Array.isArray(value) ? value.filter((text) => typeof text === "string") : [];
}
