import { type Kysely, sql } from "kysely";
import type { Database, Moment, Switch, TextList } from "./schema/mod.ts";

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

/** An account as one of its members sees it. */
export interface Membership {
  accountId: string;
  accountName: string;
  plan: string;
  role: string;
}

/** What a client was given by its user: the tokens of one login. Times are Unix milliseconds. */
export interface Grant {
  /** What all its tokens have in common. */
  grantId: string;
  clientId: string;
  userId: string;
  accountId: string | null;
  scopes: string[];
  createdAt: number;
  expiresAt: number;
}

/** A member of an account. */
export interface AccountMember {
  id: string;
  userId: string;
  name: string;
  email: string;
  role: string;
}

/** An invitation that is neither accepted nor cancelled; it may have expired. */
export interface PendingInvitation {
  id: string;
  accountId: string;
  accountName: string;
  /** In lower case. */
  email: string;
  role: string;
  inviter: string;
  /** Unix milliseconds. */
  expiresAt: number;
}

/** A browser's session. Times are Unix milliseconds. */
export interface KnownSession {
  id: string;
  /** What its cookie holds, signed there. */
  token: string;
  createdAt: number;
  expiresAt: number;
  /** "" when it is not known. */
  address: string;
  userAgent: string;
}

/** Reads the tables that better-auth keeps, and changes in them what it has no functions for. */
export interface Identities {
  hasUsers(): Promise<boolean>;
  findUser(id: string): Promise<User | null>;
  /** By an address in lower case. */
  findUserByEmail(email: string): Promise<User | null>;
  /** The accounts of a user, the first one first. */
  findMemberships(userId: string): Promise<Membership[]>;
  /** The plan of an account, or null where there is none. */
  findPlan(accountId: string): Promise<string | null>;
  /** False where there is none. */
  setPlan(accountId: string, plan: string): Promise<boolean>;
  setAccountName(accountId: string, name: string): Promise<void>;
  /** Names of accounts by their ids; those that are gone are left out. */
  findAccountNames(ids: readonly string[]): Promise<Map<string, string>>;
  /** The first one first. */
  listMembers(accountId: string): Promise<AccountMember[]>;
  /** By its id, or all of an account. */
  findInvitations(which: { id: string } | { accountId: string }): Promise<PendingInvitation[]>;
  /** A page of users by name, and how many there are. `search` is a part of a name or an address. */
  listUsers(query: { search: string; offset: number; limit: number }): Promise<{ users: KnownUser[]; total: number }>;
  /** By the hash of an access token. */
  findGrant(tokenHash: string): Promise<Grant | null>;
  /** Which grant a token is of, and whose, by the hash of a refresh token, used up or not, or of an access token. */
  findGrantOf(tokenHash: string): Promise<{ grantId: string; userId: string } | null>;
  /** The grant of a refresh token that was used up before `time`; null for any other token. */
  findReplayed(tokenHash: string, time: number): Promise<Grant | null>;
  /** The user code of a device's code, by which its user allows it; null for none. */
  findUserCode(deviceCode: string): Promise<string | null>;
  /** The grants of a user that can still be used, the newest first. */
  listGrants(userId: string): Promise<Grant[]>;
  /** Has the tokens of a grant work for another account. */
  moveGrant(grantId: string, accountId: string): Promise<void>;
  /** Gives tokens that have none a grant of their own: those of a device have no authorization code. */
  nameGrant(tokenHash: string, grantId: string, accountId: string): Promise<void>;
  /** Ends grants: of a user, or for one account of theirs, or one alone. */
  endGrants(which: { userId: string; accountId?: string } | { grantId: string }): Promise<void>;
  /** Ends the browser sessions of a user. */
  endSessions(userId: string): Promise<void>;
  /** Removes sessions, tokens, codes and links that expired before `time`, in Unix milliseconds. */
  removeExpired(time: number): Promise<void>;
  /** The browser sessions of a user, expired ones too: the newest 100. */
  listSessions(userId: string): Promise<KnownSession[]>;
  /** Ends one of a user's browser sessions; false where there is none. */
  endSession(userId: string, id: string): Promise<boolean>;
  /** Has a browser's session work for another account. */
  moveSession(token: string, accountId: string): Promise<void>;
}

/** Browser sessions that are listed: nobody reads more. */
const MOST_SESSIONS = 100;

/** Identities in either database. */
export function createIdentities(db: Kysely<Database>): Identities {
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
    async findMemberships(userId) {
      return await db.selectFrom("member").innerJoin("organization", "organization.id", "member.organizationId")
        .select(["organization.id as accountId", "organization.name as accountName", "plan", "role"])
        .where("userId", "=", userId).orderBy("member.createdAt").orderBy("member.id").execute();
    },
    async findPlan(accountId) {
      const row = await db.selectFrom("organization").select("plan").where("id", "=", accountId).executeTakeFirst();
      return row?.plan ?? null;
    },
    async setPlan(accountId, plan) {
      const result = await db.updateTable("organization").set({ plan }).where("id", "=", accountId).executeTakeFirst();
      return result.numUpdatedRows > 0n;
    },
    ...createMembers(db),
    ...createGrants(db),
    async endSessions(userId) {
      await db.deleteFrom("session").where("userId", "=", userId).execute();
    },
    async removeExpired(time) {
      const until = new Date(time).toISOString();
      for (const table of ["deviceCode", "oauthAccessToken", "oauthRefreshToken", "session", "verification"] as const) {
        await db.deleteFrom(table).where("expiresAt", "<", until).execute();
      }
    },
    async listSessions(userId) {
      const rows = await db.selectFrom("session").selectAll().where("userId", "=", userId)
        .orderBy("createdAt", "desc").orderBy("id").limit(MOST_SESSIONS).execute();
      return rows.map(({ id, token, createdAt, expiresAt, ipAddress, userAgent }) => ({
        id,
        token,
        createdAt: new Date(createdAt).getTime(),
        expiresAt: new Date(expiresAt).getTime(),
        address: ipAddress ?? "",
        userAgent: userAgent ?? "",
      }));
    },
    async endSession(userId, id) {
      const result = await db.deleteFrom("session").where("userId", "=", userId).where("id", "=", id)
        .executeTakeFirst();
      return result.numDeletedRows > 0n;
    },
    async moveSession(token, accountId) {
      await db.updateTable("session").set({ activeOrganizationId: accountId }).where("token", "=", token).execute();
    },
  };
}

type Members = Pick<
  Identities,
  "setAccountName" | "findAccountNames" | "listMembers" | "findInvitations" | "listUsers"
>;

function createMembers(db: Kysely<Database>): Members {
  return {
    async setAccountName(accountId, name) {
      await db.updateTable("organization").set({ name }).where("id", "=", accountId).execute();
    },
    async findAccountNames(ids) {
      if (ids.length === 0) return new Map();
      const rows = await db.selectFrom("organization").select(["id", "name"]).where("id", "in", [...new Set(ids)])
        .execute();
      return new Map(rows.map(({ id, name }) => [id, name]));
    },
    async listMembers(accountId) {
      return await db.selectFrom("member").innerJoin("user", "user.id", "member.userId")
        .select(["member.id", "userId", "name", "email", "role"]).where("organizationId", "=", accountId)
        .orderBy("member.createdAt").orderBy("member.id").execute();
    },
    async findInvitations(which) {
      const invitations = db.selectFrom("invitation")
        .innerJoin("organization", "organization.id", "invitation.organizationId")
        .innerJoin("user", "user.id", "invitation.inviterId")
        .select(["invitation.id", "organizationId as accountId", "organization.name as accountName"])
        .select(["invitation.email", "role", "user.name as inviter", "expiresAt"])
        .where("status", "=", "pending").orderBy("invitation.email");
      const rows = "id" in which
        ? await invitations.where("invitation.id", "=", which.id).execute()
        : await invitations.where("organizationId", "=", which.accountId).execute();
      return rows.map((row) => ({ ...row, role: row.role ?? "", expiresAt: new Date(row.expiresAt).getTime() }));
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

const GRANT_TABLES = ["oauthAccessToken", "oauthRefreshToken"] as const;

type Grants = Pick<
  Identities,
  "findGrant" | "findGrantOf" | "findReplayed" | "findUserCode" | "listGrants" | "moveGrant" | "nameGrant" | "endGrants"
>;

function createGrants(db: Kysely<Database>): Grants {
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
      // The access tokens of a refresh token go with it.
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

const USER = ["id", "name", "email", "isAdmin", "suspended"] as const;

function readUser(
  row: { id: string; name: string; email: string; isAdmin: Switch; suspended: Switch },
): User {
  const { id, name, email } = row;
  return { id, name, email, isAdmin: Boolean(row.isAdmin), isSuspended: Boolean(row.suspended) };
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
