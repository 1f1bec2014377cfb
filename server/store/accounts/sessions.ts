import type { Kysely } from "kysely";
import type { Database } from "../schema/mod.ts";

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

/** Browser sessions that are listed: nobody reads more. */
const MOST_SESSIONS = 100;

/** What browsers are signed in with. */
export interface SessionRecords {
  /** Ends the browser sessions of a user. */
  endSessions(userId: string): Promise<void>;
  /** The browser sessions of a user, expired ones too: the newest 100. */
  listSessions(userId: string): Promise<KnownSession[]>;
  /** The ids of all browser sessions of a user. */
  listSessionIds(userId: string): Promise<string[]>;
  /** Ends one of a user's browser sessions; false where there is none. */
  endSession(userId: string, id: string): Promise<boolean>;
  /** Has a browser's session work for another account. */
  moveSession(token: string, accountId: string): Promise<void>;
}

/** Browser sessions in either database. */
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
