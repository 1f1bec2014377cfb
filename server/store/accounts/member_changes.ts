import type { Kysely, Transaction } from "kysely";
import type { Database } from "../schema/mod.ts";
import { takeTurns } from "../take_turns.ts";
import { createGrantChanges } from "./grants.ts";
import { createPersonalTokens } from "./personal_tokens.ts";

/** An invitation to create, or to renew for the same address. */
export interface NewInvitation {
  accountId: string;
  /** Lower case. */
  email: string;
  role: string;
  inviterId: string;
  /** Unix milliseconds. */
  now: number;
  expiresAt: number;
}

/** The reason for a refusal: a role, a limit, or a missing object. */
export type MemberRefusal =
  | "not_found"
  | "not_allowed"
  | "last_owner"
  | "already_member"
  | "other_address"
  | "too_many_members"
  | "too_many_invitations";

/**
 * Changes to an account's members. Each change checks roles and limits in its own transaction, and the changes to one
 * account run one after the other. So an account keeps an owner, even if its members act simultaneously.
 */
export interface MemberChanges {
  /** Creates or renews an invitation. @returns its id */
  addInvitation(invitation: NewInvitation): Promise<{ id: string } | MemberRefusal>;
  /** Cancels the account's pending invitation. */
  cancelInvitation(accountId: string, id: string): Promise<"done" | MemberRefusal>;
  /** Makes a user a member through an invitation to their address. @param now Unix milliseconds */
  acceptInvitation(
    id: string,
    user: { id: string; email: string },
    now: number,
  ): Promise<{ accountId: string } | MemberRefusal>;
  setRole(accountId: string, actorId: string, memberId: string, role: string): Promise<"done" | MemberRefusal>;
  /** Removes a member with their client logins and personal tokens for that account. */
  removeMember(accountId: string, actorId: string, memberId: string): Promise<"done" | MemberRefusal>;
}

/** Members, and pending invitations, per account. */
const MAX_MEMBERS = 100, MAX_INVITATIONS = 100;

/** Creates the changes for either database. */
export function createMemberChanges(db: Kysely<Database>): MemberChanges {
  const inTurn = <T>(accountId: string, change: (transaction: Transaction<Database>) => Promise<T>) =>
    takeTurns(db, `members ${accountId}`, change);
  return {
    addInvitation: (invitation) => inTurn(invitation.accountId, (transaction) => invite(transaction, invitation)),
    async cancelInvitation(accountId, id) {
      const { numUpdatedRows } = await db.updateTable("invitation").set({ status: "canceled" })
        .where("id", "=", id).where("organizationId", "=", accountId).where("status", "=", "pending")
        .executeTakeFirst();
      return numUpdatedRows > 0n ? "done" : "not_found";
    },
    async acceptInvitation(id, user, now) {
      const invitation = await db.selectFrom("invitation").select("organizationId").where("id", "=", id)
        .executeTakeFirst();
      if (invitation === undefined) return "not_found";
      const { organizationId: accountId } = invitation;
      return await inTurn(accountId, (transaction) => accept(transaction, { id, accountId }, user, now));
    },
    setRole: (accountId, actorId, memberId, role) =>
      inTurn(accountId, async (transaction) => {
        const checked = await checkChange(transaction, { accountId, actorId, memberId, role });
        if (typeof checked === "string") return checked;
        await transaction.updateTable("member").set({ role }).where("id", "=", memberId).execute();
        return "done";
      }),
    removeMember: (accountId, actorId, memberId) =>
      inTurn(accountId, async (transaction) => {
        const checked = await checkChange(transaction, { accountId, actorId, memberId, role: null });
        if (typeof checked === "string") return checked;
        const which = { userId: checked.userId, accountId };
        await transaction.deleteFrom("member").where("id", "=", memberId).execute();
        await createGrantChanges(transaction).endGrants(which);
        await createPersonalTokens(transaction).remove(which);
        return "done";
      }),
  };
}

const isOwner = (role: string | undefined): boolean => role?.split(",").includes("owner") ?? false;

/** Checks a new role, or with null a removal. @returns the member, or the reason for a refusal */
async function checkChange(
  db: Transaction<Database>,
  { accountId, actorId, memberId, role }: { accountId: string; actorId: string; memberId: string; role: string | null },
): Promise<{ userId: string } | MemberRefusal> {
  const members = await db.selectFrom("member").select(["id", "userId", "role"])
    .where("organizationId", "=", accountId).execute();
  const member = members.find(({ id }) => id === memberId), actor = members.find(({ userId }) => userId === actorId);
  if (member === undefined) return "not_found";
  const isLeaving = member === actor && role === null;
  const mayManage = actor !== undefined && actor.role !== "member";
  const needsOwner = isOwner(member.role) || (role !== null && isOwner(role));
  if (!isLeaving && (!mayManage || (needsOwner && !isOwner(actor.role)))) return "not_allowed";
  const losesOwner = isOwner(member.role) && (role === null || !isOwner(role));
  if (losesOwner && members.filter((one) => isOwner(one.role)).length === 1) return "last_owner";
  return { userId: member.userId };
}

async function invite(
  db: Transaction<Database>,
  { accountId, email, role, inviterId, now, expiresAt }: NewInvitation,
): Promise<{ id: string } | MemberRefusal> {
  const member = await db.selectFrom("member").innerJoin("user", "user.id", "member.userId").select("member.id")
    .where("organizationId", "=", accountId).where("email", "=", email).executeTakeFirst();
  if (member !== undefined) return "already_member";
  const pending = (await db.selectFrom("invitation").select(["id", "email", "expiresAt"])
    .where("organizationId", "=", accountId).where("status", "=", "pending").execute())
    .filter((one) => new Date(one.expiresAt).getTime() > now);
  const values = { role, inviterId, expiresAt: new Date(expiresAt).toISOString() };
  const known = pending.find((one) => one.email === email);
  if (known !== undefined) {
    await db.updateTable("invitation").set(values).where("id", "=", known.id).execute();
    return { id: known.id };
  }
  if (pending.length >= MAX_INVITATIONS) return "too_many_invitations";
  const id = crypto.randomUUID(), createdAt = new Date(now).toISOString();
  await db.insertInto("invitation")
    .values({ id, organizationId: accountId, email, status: "pending", createdAt, ...values }).execute();
  return { id };
}

async function accept(
  db: Transaction<Database>,
  { id, accountId }: { id: string; accountId: string },
  user: { id: string; email: string },
  now: number,
): Promise<{ accountId: string } | MemberRefusal> {
  const invitation = await db.selectFrom("invitation").select(["email", "role", "expiresAt"]).where("id", "=", id)
    .where("status", "=", "pending").executeTakeFirst();
  if (invitation === undefined || new Date(invitation.expiresAt).getTime() <= now) return "not_found";
  if (invitation.email !== user.email) return "other_address";
  const members = await db.selectFrom("member").select("userId").where("organizationId", "=", accountId).execute();
  if (members.some(({ userId }) => userId === user.id)) return "already_member";
  if (members.length >= MAX_MEMBERS) return "too_many_members";
  await db.insertInto("member").values({
    id: crypto.randomUUID(),
    organizationId: accountId,
    userId: user.id,
    role: invitation.role ?? "member",
    createdAt: new Date(now).toISOString(),
  }).execute();
  await db.updateTable("invitation").set({ status: "accepted" }).where("id", "=", id).execute();
  return { accountId };
}
