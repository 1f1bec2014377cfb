import type { Kysely } from "kysely";
import type { Database } from "../schema/mod.ts";
import { createGrantChanges, createGrantReads, type GrantChanges, type GrantReads } from "./grants.ts";
import { createMembers, type MemberRecords } from "./members.ts";
import { createMemberChanges, type MemberChanges } from "./member_changes.ts";
import { createSessions, type SessionRecords } from "./sessions.ts";
import { createUsers, type UserRecords } from "./users.ts";

/** Reads better-auth's tables, and makes the changes for which better-auth has no functions. */
export interface Identities
  extends UserRecords, MemberRecords, MemberChanges, GrantReads, GrantChanges, SessionRecords {
  /** Removes sessions, tokens, codes and links that expired before `time`, in Unix milliseconds. */
  removeExpired(time: number): Promise<void>;
}

/** Creates identities for either database. */
export function createIdentities(db: Kysely<Database>): Identities {
  return {
    ...createUsers(db),
    ...createMembers(db),
    ...createMemberChanges(db),
    ...createGrantReads(db),
    ...createGrantChanges(db),
    ...createSessions(db),
    async removeExpired(time) {
      const until = new Date(time).toISOString();
      for (const table of ["deviceCode", "oauthAccessToken", "oauthRefreshToken", "session", "verification"] as const) {
        await db.deleteFrom(table).where("expiresAt", "<", until).execute();
      }
    },
  };
}
