import { HttpError } from "../../../common/http_error.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import { createRateLimiter } from "../../../common/rate_limiter.ts";
import { type Principal, requireLogin, type Role } from "../../access/mod.ts";
import type { PendingInvitation, Store } from "../../store/mod.ts";
import { callerOf, noSuch, notAllowed, unwrap } from "../better_auth/call.ts";
import { requireSession } from "./clients.ts";
import { tooManyAttempts } from "../attempts.ts";
import { fieldRefused } from "../../http/mod.ts";
import { readEmail, readName } from "./fields.ts";
import { type Identity, toRole } from "../identify.ts";
import { invitationMail } from "../mail.ts";
import type { Shared } from "./shared.ts";
import type { Invitation, Member, Members } from "../types.ts";

/** What the forms for members and invitations of an account work with. */
export interface MembersOptions extends Omit<Shared, "store" | "attempts"> {
  store: Pick<Store, "identities" | "personalTokens">;
  switchAccount(identity: Identity, accountId: string): Promise<void>;
}

/** Accounts that one user may be a member of before they make another. */
const MAX_ACCOUNTS = 20;

/** Accounts and who is in them. */
export class MemberForms implements Members {
  readonly #options: MembersOptions;
  /** Invitations that a user may make: they are mailed, with names that somebody chose, to whom they like. */
  readonly #limiter = createRateLimiter({ burst: 20, perMinute: 1 });

  constructor(options: MembersOptions) {
    this.#options = options;
  }

  async createAccount(exchange: Exchange, form: { name: string }): Promise<Principal["account"]> {
    const { audit, loadAuth, store } = this.#options;
    const { user } = await this.#enter(exchange), name = readName(form.name);
    if ((await store.identities.findMemberships(user.id)).length >= MAX_ACCOUNTS) throw tooManyAccounts();
    const { id, plan } = await (await loadAuth()).createAccount(user.id, name);
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
    const body = { email, role, organizationId: account.id, resend: true };
    await this.#call(exchange, "/organization/invite-member", body);
    const pending = await store.identities.findInvitations({ accountId: account.id });
    const found = pending.find((one) => one.email === email);
    if (found === undefined) throw new Error("an invitation was made and is not there");
    const invitation = this.#describe(found);
    mailer?.send(email, invitationMail(user.name, account.name, invitation.url));
    await audit.write(user, "member_invited", `${email} (${role})`, account.id);
    return { ...invitation, mailed: mailer !== null };
  }

  async cancelInvitation(exchange: Exchange, id: string): Promise<void> {
    const { user, account } = await this.#enter(exchange, "manages");
    const [invitation] = await this.#options.store.identities.findInvitations({ id });
    if (invitation?.accountId !== account.id) throw noSuch("invitation");
    await this.#call(exchange, "/organization/cancel-invitation", { invitationId: id });
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
    const { user } = await this.#enter(exchange);
    const [invitation] = await this.#options.store.identities.findInvitations({ id });
    if (invitation === undefined) throw noSuch("invitation");
    await this.#call(exchange, "/organization/accept-invitation", { invitationId: id });
    await this.#options.audit.write(user, "member_added", `${user.email} (${invitation.role})`, invitation.accountId);
  }

  async setRole(exchange: Exchange, memberId: string, role: Role): Promise<void> {
    const { user, account } = await this.#enter(exchange, "manages");
    const member = await this.#find(account.id, memberId);
    const body = { memberId, role: this.#readRole(role, account.role), organizationId: account.id };
    await this.#call(exchange, "/organization/update-member-role", body);
    await this.#options.audit.write(user, "role_changed", `${member.email}: ${member.role} to ${role}`, account.id);
  }

  async remove(exchange: Exchange, memberId: string): Promise<void> {
    const { audit, onEnded, store } = this.#options;
    const { user, account } = await this.#enter(exchange);
    const member = await this.#find(account.id, memberId), organizationId = account.id;
    if (member.userId === user.id) await this.#call(exchange, "/organization/leave", { organizationId });
    else {
      if (account.role === "member" || (toRole(member.role) === "owner" && account.role !== "owner")) throw notOwner();
      await this.#call(exchange, "/organization/remove-member", { memberIdOrEmail: memberId, organizationId });
    }
    await store.identities.endGrants({ userId: member.userId, accountId: account.id });
    await store.personalTokens.remove({ userId: member.userId, accountId: account.id });
    onEnded({ userId: member.userId, accountId: account.id });
    await audit.write(user, "member_removed", member.email, account.id);
  }

  /** Who has signed in, and with `manages` is an owner or admin of the account. */
  async #enter(exchange: Exchange, manages?: "manages"): Promise<Principal> {
    const principal = requireLogin((await this.#options.identify(exchange))?.principal ?? null);
    requireSession(principal);
    if (manages !== undefined) requireManager(principal);
    return principal;
  }

  async #call(exchange: Exchange, path: string, body: Readonly<Record<string, unknown>>): Promise<void> {
    const caller = callerOf(exchange, this.#options.readOrigin(exchange).address);
    unwrap(await this.#options.call(path, caller, body));
    this.#options.onChange();
  }

  async #find(accountId: string, memberId: string) {
    const members = await this.#options.store.identities.listMembers(accountId);
    const member = members.find(({ id }) => id === memberId);
    if (member === undefined) throw noSuch("member");
    return member;
  }

  #readRole(role: string, own: Role): Role {
    if (role !== "owner" && role !== "admin" && role !== "member") throw fieldRefused("role", "There is no such role.");
    if (role === "owner" && own !== "owner") throw notOwner();
    return role;
  }

  #isGood({ expiresAt }: PendingInvitation): boolean {
    return expiresAt > this.#options.now();
  }

  #describe({ id, email, role, expiresAt }: PendingInvitation): Invitation {
    return { id, email, role: toRole(role), expiresAt, url: `${this.#options.origin}/invitation/${id}` };
  }
}

function requireManager({ account }: Principal): void {
  if (account.role === "member") throw notAllowed("Only owners and admins of an account may.");
}

const notOwner = (): HttpError => notAllowed("Only an owner of the account may.");

const tooManyAccounts = (): HttpError =>
  new HttpError(403, "too_many_accounts", `A user makes no more accounts than ${MAX_ACCOUNTS}.`);
