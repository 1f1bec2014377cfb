import type { Kysely, Transaction } from "kysely";
import type { Database } from "../schema/mod.ts";
import { takeTurns } from "../take_turns.ts";

/** An account as its members see it. */
export interface Membership {
  accountId: string;
  accountName: string;
  plan: string;
  role: string;
}

/** A member of an account. */
export interface AccountMember {
  id: string;
  userId: string;
  name: string;
  email: string;
  role: string;
}

/** An invitation that was neither accepted nor cancelled. It may have expired. */
export interface PendingInvitation {
  id: string;
  accountId: string;
  accountName: string;
  /** Lower case. */
  email: string;
  role: string;
  inviter: string;
  /** Unix milliseconds. */
  expiresAt: number;
}

/** An account owned by its first member. */
export interface NewAccount {
  userId: string;
  accountName: string;
  plan: string;
}

/** Accounts, members and invitations. {@link MemberChanges} changes members. */
export interface MemberRecords {
  /** Creates an account unless the user belongs to `limit` accounts. @returns its id, or null at the limit */
  addAccount(account: NewAccount, limit: number): Promise<string | null>;
  /** Lists a user's accounts, the oldest membership first. */
  findMemberships(userId: string): Promise<Membership[]>;
  /** Returns an account's plan, or null for a missing account. */
  findPlan(accountId: string): Promise<string | null>;
  /** Changes the plan. Returns false for a missing account. */
  setPlan(accountId: string, plan: string): Promise<boolean>;
  setAccountName(accountId: string, name: string): Promise<void>;
  /** Returns account names by id, without deleted accounts. */
  findAccountNames(ids: readonly string[]): Promise<Map<string, string>>;
  /** Lists members, the oldest membership first. */
  listMembers(accountId: string): Promise<AccountMember[]>;
  /** Finds one invitation by its id, or all in an account. */
  findInvitations(which: { id: string } | { accountId: string }): Promise<PendingInvitation[]>;
}

/** Creates the functions for either database. */
export function createMembers(db: Kysely<Database>): MemberRecords {
  return {
    addAccount: (account, limit) =>
      takeTurns(db, `accounts ${account.userId}`, async (transaction) => {
        const { count } = await transaction.selectFrom("member").where("userId", "=", account.userId)
          .select((from) => from.fn.countAll().as("count")).executeTakeFirstOrThrow();
        return Number(count) >= limit ? null : await insertAccount(transaction, account);
      }),
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
  };
}

/** Creates an account with its owner. @returns its id */
export async function insertAccount(
  db: Transaction<Database>,
  { userId, accountName: name, plan }: NewAccount,
): Promise<string> {
  const id = crypto.randomUUID(), createdAt = new Date().toISOString();
  await db.insertInto("organization").values({ id, name, slug: crypto.randomUUID(), createdAt, plan }).execute();
  await db.insertInto("member")
    .values({ id: crypto.randomUUID(), organizationId: id, userId, role: "owner", createdAt }).execute();
  return id;
}
