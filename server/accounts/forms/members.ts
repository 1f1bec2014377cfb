import { HttpError } from "../../../common/http_error.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import { createRateLimiter } from "../../../common/rate_limiter.ts";
import { type Plan, type Principal, requireLogin, type Role } from "../../access/mod.ts";
import type { MemberRefusal, PendingInvitation, Store } from "../../store/mod.ts";
import { noSuch, notAllowed } from "../better_auth/call.ts";
import { requireSession } from "./clients.ts";
import { tooManyAttempts } from "../attempts.ts";
import { fieldRefused } from "../../http/mod.ts";
import { readEmail, readName } from "./entry.ts";
import { type Identity, toRole } from "../identify.ts";
import { invitationMail } from "../mail.ts";
import type { Shared } from "./shared.ts";
import type { Invitation, Member, Members } from "../types.ts";

/** The dependencies of the forms for members and invitations. */
export interface MembersOptions extends Omit<Shared, "store" | "attempts" | "call" | "loadAuth" | "readOrigin"> {
  store: Pick<Store, "identities" | "personalTokens">;
  switchAccount(identity: Identity, accountId: string): Promise<void>;
  /** The plan that new accounts get. */
  plan: Plan;
}

/** How long an invitation can be accepted. */
const INVITATION_MS = 7 * 24 * 3600 * 1000;
/** Accounts that a user may belong to before creating another one. */
const MAX_ACCOUNTS = 20;

/** The forms for accounts and their members. */
export class MemberForms implements Members {
  readonly #options: MembersOptions;
  /** Limits the invitations per user, because invitations send mail with chosen names to arbitrary addresses. */
  readonly #limiter = createRateLimiter({ burst: 20, perMinute: 1 });

  constructor(options: MembersOptions) {
    this.#options = options;
  }

  async createAccount(exchange: Exchange, form: { name: string }): Promise<Principal["account"]> {
    const { audit, plan, store } = this.#options;
    const { user } = await this.#enter(exchange), name = readName(form.name);
    const id = await store.identities.addAccount({ userId: user.id, accountName: name, plan }, MAX_ACCOUNTS);
    if (id === null) throw tooManyAccounts();
    await audit.write(user, "account_added", name, id);
    return { id, name, plan, role: "owner" };
  }

  async rename(exchange: Exchange, form: { name: string }): Promise<void> {
    const { user, account } = await this.#enter(exchange, "manages");
    const name = readName(form.name);
    await this.#options.store.identities.setAccountName(account.id, name);
    this.#options.onChange();
    await this.#options.audit.write(user, "account_renamed", `${account.name}: ${name}`, account.id);
  }

  async switchAccount(exchange: Exchange, accountId: string): Promise<void> {
    const identity = await this.#options.identify(exchange);
    requireLogin(identity?.principal ?? null);
    if (identity !== null) await this.#options.switchAccount(identity, accountId);
  }

  async list({ account }: Principal): Promise<Member[]> {
    const members = await this.#options.store.identities.listMembers(account.id);
    return members.map((member) => ({ ...member, role: toRole(member.role) }));
  }

  async invitations(principal: Principal): Promise<Invitation[]> {
    requireManager(principal);
    const pending = await this.#options.store.identities.findInvitations({ accountId: principal.account.id });
    return pending.filter((one) => this.#isGood(one)).map((one) => this.#describe(one));
  }

  async invite(exchange: Exchange, form: { email: string; role: Role }): Promise<Invitation & { mailed: boolean }> {
    const { audit, mailer, store } = this.#options;
    const { user, account } = await this.#enter(exchange, "manages");
    const email = readEmail(form.email), role = this.#readRole(form.role, account.role);
    const waitMs = this.#limiter.take(user.id);
    if (waitMs > 0) throw tooManyAttempts(waitMs);
    const now = this.#options.now(), expiresAt = now + INVITATION_MS;
    const made = { accountId: account.id, email, role, inviterId: user.id, now, expiresAt };
    const { id } = unwrapChange(await store.identities.addInvitation(made), "invitation");
    const invitation = this.#describe({ id, email, role, expiresAt });
    mailer?.send(email, invitationMail(user.name, account.name, invitation.url));
    await audit.write(user, "member_invited", `${email} (${role})`, account.id);
    return { ...invitation, mailed: mailer !== null };
  }

  async cancelInvitation(exchange: Exchange, id: string): Promise<void> {
    const { user, account } = await this.#enter(exchange, "manages");
    const [invitation] = await this.#options.store.identities.findInvitations({ id });
    if (invitation?.accountId !== account.id) throw noSuch("invitation");
    unwrapChange(await this.#options.store.identities.cancelInvitation(account.id, id), "invitation");
    await this.#options.audit.write(user, "invitation_cancelled", invitation.email, account.id);
  }

  async findInvitation(
    id: string,
  ): Promise<{ account: string; email: string; inviter: string; hasUser: boolean } | null> {
    const { identities } = this.#options.store;
    const [invitation] = await identities.findInvitations({ id });
    if (invitation === undefined || !this.#isGood(invitation)) return null;
    const { accountName, email, inviter } = invitation;
    return { account: accountName, email, inviter, hasUser: await identities.findUserByEmail(email) !== null };
  }

  async acceptInvitation(exchange: Exchange, id: string): Promise<void> {
    const { audit, identify, now, store, switchAccount } = this.#options;
    const { user } = await this.#enter(exchange);
    const { accountId } = unwrapChange(await store.identities.acceptInvitation(id, user, now()), "invitation");
    const identity = await identify(exchange);
    if (identity !== null) await switchAccount(identity, accountId);
    await audit.write(user, "member_added", user.email, accountId);
  }

  async setRole(exchange: Exchange, memberId: string, role: Role): Promise<void> {
    const { audit, onChange, store } = this.#options;
    const { user, account } = await this.#enter(exchange, "manages");
    const member = await this.#find(account.id, memberId);
    const wanted = this.#readRole(role, account.role);
    unwrapChange(await store.identities.setRole(account.id, user.id, memberId, wanted), "member");
    onChange();
    await audit.write(user, "role_changed", `${member.email}: ${member.role} to ${role}`, account.id);
  }

  async remove(exchange: Exchange, memberId: string): Promise<void> {
    const { audit, onEnded, store } = this.#options;
    const { user, account } = await this.#enter(exchange);
    const member = await this.#find(account.id, memberId);
    unwrapChange(await store.identities.removeMember(account.id, user.id, memberId), "member");
    onEnded({ userId: member.userId, accountId: account.id });
    await audit.write(user, "member_removed", member.email, account.id);
  }

  /** Returns the signed-in caller; with `manages`, an owner or admin of the account. */
  async #enter(exchange: Exchange, manages?: "manages"): Promise<Principal> {
    const principal = requireLogin((await this.#options.identify(exchange))?.principal ?? null);
    requireSession(principal);
    if (manages !== undefined) requireManager(principal);
    return principal;
  }

  async #find(accountId: string, memberId: string) {
    const members = await this.#options.store.identities.listMembers(accountId);
    const member = members.find(({ id }) => id === memberId);
    if (member === undefined) throw noSuch("member");
    return member;
  }

  #readRole(role: string, own: Role): Role {
    if (role !== "owner" && role !== "admin" && role !== "member") {
      throw fieldRefused("role", "This role does not exist.");
    }
    if (role === "owner" && own !== "owner") throw notOwner();
    return role;
  }

  #isGood({ expiresAt }: PendingInvitation): boolean {
    return expiresAt > this.#options.now();
  }

  #describe(
    { id, email, role, expiresAt }: Pick<PendingInvitation, "id" | "email" | "role" | "expiresAt">,
  ): Invitation {
    return { id, email, role: toRole(role), expiresAt, url: `${this.#options.origin}/invitation/${id}` };
  }
}

function requireManager({ account }: Principal): void {
  if (account.role === "member") throw notAllowed("Only owners and admins of an account may do this.");
}

/**
 * Returns a successful result. @param subject the noun for 404, in lower case @throws HttpError that explains a refusal
 */
function unwrapChange<T extends object | "done">(result: T | MemberRefusal, subject: string): T {
  switch (result) {
    case "not_found":
      throw noSuch(subject);
    case "not_allowed":
      throw notOwner();
    case "last_owner":
      throw lastOwner();
    case "already_member":
      throw new HttpError(409, "already_member", "This user is a member of the account already.");
    case "other_address":
      throw new HttpError(403, "other_address", "This invitation is for another email address.", {
        details: "Sign in as the user who was invited.",
      });
    case "too_many_members":
      throw notAllowed("An account has at most 100 members.");
    case "too_many_invitations":
      throw notAllowed("An account has at most 100 open invitations: cancel some.");
    default:
      return result as T;
  }
}

const lastOwner = (): HttpError =>
  new HttpError(409, "last_owner", "An account keeps at least one owner.", { details: "Make another member owner." });

const notOwner = (): HttpError => notAllowed("Only an owner of the account may do this.");

const tooManyAccounts = (): HttpError =>
  new HttpError(403, "too_many_accounts", `A user belongs to at most ${MAX_ACCOUNTS} accounts when creating another.`);
