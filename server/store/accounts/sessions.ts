import type { Kysely } from "kysely";
import type { Database } from "../schema/mod.ts";

/** A browser's session. Times are Unix milliseconds. */
export interface KnownSession {
  id: string;
  /** The token in the cookie, which also has a signature. */
  token: string;
  createdAt: number;
  expiresAt: number;
  /** "" if unknown. */
  address: string;
  userAgent: string;
}

/** Sessions in a list. */
const MOST_SESSIONS = 100;

/** Sessions of browsers. */
export interface SessionRecords {
  /** Ends all of a user's browser sessions. */
  endSessions(userId: string): Promise<void>;
  /** Lists a user's newest 100 browser sessions, including expired ones. */
  listSessions(userId: string): Promise<KnownSession[]>;
  /** Lists the ids of all browser sessions that a user has. */
  listSessionIds(userId: string): Promise<string[]>;
  /** Ends one of a user's browser sessions. Returns false for a missing one. */
  endSession(userId: string, id: string): Promise<boolean>;
  /** Moves a browser's session to another account. */
  moveSession(token: string, accountId: string): Promise<void>;
}

/** Creates browser sessions for either database. */
export function createSessions(db: Kysely<Database>): SessionRecords {
  return {
    async endSessions(userId) {
      await db.deleteFrom("session").where("userId", "=", userId).execute();
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
    async listSessionIds(userId) {
      const rows = await db.selectFrom("session").select("id").where("userId", "=", userId).execute();
      return rows.map(({ id }) => id);
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
