import type { Exchange } from "../../net/listener/mod.ts";
import type { Authenticate, Ended, Plan, Principal, Role, Scope } from "../access/mod.ts";
import type { ApiArea, Handler } from "../http/mod.ts";
import type { AuditEntry } from "../store/mod.ts";
import type { OftenDone } from "./audit.ts";

/** Who may sign up: anybody, whoever was invited, or nobody. */
export type SignUpPolicy = "open" | "invitation" | "closed";

/** The first user, as the operator's options name it. */
export interface FirstAdmin {
  /** In lower case. */
  email: string;
  password: string;
}

/**
 * Users, the accounts they are members of, and what they let clients do. Every function throws `HttpError`, whose message
 * may be shown: besides what it names, 400 `bad_request` with the field, 403 `not_allowed` for who may not, 404
 * `not_found` for what is not there or not theirs, and 503 while the database fails. None of them checks where a request
 * comes from but {@link authenticate} and {@link checkOrigin}: a form's handler calls one of them first.
 */
export interface Accounts {
  /** Below `/api/auth/`, what OAuth clients call, and `/.well-known/`. */
  readonly handlers: readonly Handler[];
  /** `whoami`, and switching the account. */
  readonly api: ApiArea;
  readonly authenticate: Authenticate;
  /** For forms of those who have not signed in. @throws HttpError 403 `foreign_origin` */
  checkOrigin(exchange: Exchange): void;
  /** The plan of an account now; `free` where there is none. */
  planOf(accountId: string): Promise<Plan>;
  /** Whether a user may do nothing for the time being; true for one that is gone. */
  isSuspended(userId: string): Promise<boolean>;
  /** All accounts of a user, the first one first. */
  accountsOf(principal: Principal): Promise<Principal["account"][]>;
  /** Keeps in the audit log of the account what a member had the server do; the same once an hour. */
  note(principal: Principal, action: OftenDone, subject: string): Promise<void>;
  readonly entry: SignIn;
  readonly consent: Consent;
  readonly members: Members;
  readonly clients: Clients;
  readonly sessions: BrowserSessions;
  readonly admin: Admin;
  /** Makes the first user, an admin with an account, while there is none. */
  addFirstAdmin(admin: FirstAdmin): Promise<void>;
  /**
   * Has it told, in this process and at once, who may not go on, after a suspension, say, or because a client was
   * revoked: what they have open is to end.
   */
  onEnded(listener: (ended: Ended) => void): void;
  close(): void;
}

/** What a form led to. */
export interface Entered {
  /** Values of `Set-Cookie` fields to answer with. */
  readonly cookies: readonly string[];
  /** Where to send the browser: on in a client's login, when one brought it here; else null. */
  readonly next: string | null;
}

/** Signing up, in and out. */
export interface SignIn {
  readonly policy: SignUpPolicy;
  /** Whether mails can be sent: without, a reset link comes from an admin, an invitation's from who invites. */
  readonly sendsMail: boolean;
  /** Whether the first user, an admin, is still to be made, by the link in the log. */
  needsSetUp(): Promise<boolean>;
  /** Makes the first user, by the token of that link. @throws HttpError 403 `set_up_link_invalid` */
  setUp(exchange: Exchange, form: SignUpForm & { token: string }): Promise<Entered>;
  /**
   * @param form `oauthQuery` is the query of the page when a client's login led there, with all its parameters
   * @throws HttpError 401 `wrong_credentials`, 403 `user_suspended`, 429 `too_many_attempts` with Retry-After, 400
   * `login_expired` for an `oauthQuery` that is too old
   */
  signIn(exchange: Exchange, form: { email: string; password: string; oauthQuery?: string }): Promise<Entered>;
  /**
   * Makes a user with an account of their own. With `invitationId` they join that account too.
   * @throws HttpError 403 `sign_up_closed`, 409 `email_taken`, 429 `too_many_attempts`
   */
  signUp(exchange: Exchange, form: SignUpForm & { invitationId?: string; oauthQuery?: string }): Promise<Entered>;
  /** Ends the browser's session. */
  signOut(exchange: Exchange): Promise<Entered>;
  /** Mails a link when there is such a user and mail can be sent, and tells nobody which. @throws HttpError 429 */
  forgot(exchange: Exchange, form: { email: string }): Promise<void>;
  /**
   * Sets a new password by the token of a link, and ends all sessions, grants and tokens.
   * @throws HttpError 400 `link_invalid`
   */
  reset(exchange: Exchange, form: { token: string; password: string }): Promise<void>;
  /**
   * Ends all other sessions, and all grants of clients.
   * @throws HttpError 401 `wrong_credentials`, 403 `session_wanted`, 429 `too_many_attempts`
   */
  changePassword(exchange: Exchange, form: { current: string; password: string }): Promise<Entered>;
}

/** Who signs up. Passwords have 8 to 128 characters. */
export interface SignUpForm {
  name: string;
  email: string;
  password: string;
}

/** What a client asks a user for. */
export interface AuthorizationRequest {
  readonly client: string;
  /** What it may do then, with words for it. */
  readonly scopes: readonly { readonly scope: Scope; readonly words: string }[];
}

/** The screens that ask a user whether a client may. */
export interface Consent {
  /** What the query of `/authorize` asks for. @throws HttpError 400 `login_expired`, `bad_request` */
  describe(query: string): AuthorizationRequest;
  /**
   * Answers for the user who has signed in, for one of their accounts; the current one when it is left out.
   * @returns where to send the browser, which is the client's own address
   * @throws as {@link describe} does; HttpError 403 `session_wanted`, 404 for another's account
   */
  decide(exchange: Exchange, form: { query: string; accept: boolean; accountId?: string }): Promise<Entered>;
  /** What the device with this code asks for. @throws HttpError 404 `code_unknown`, 429 `too_many_attempts` */
  describeDevice(exchange: Exchange, code: string): Promise<AuthorizationRequest>;
  /** As {@link decide}, for a device. @throws as {@link describeDevice} does */
  decideDevice(exchange: Exchange, form: { code: string; accept: boolean; accountId?: string }): Promise<void>;
}

/** A user in an account, as other members see them. */
export interface Member {
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  readonly email: string;
  readonly role: Role;
}

/** An invitation into an account that waits for an answer. */
export interface Invitation {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  /** Unix milliseconds. */
  readonly expiresAt: number;
  /** Its page, for whoever passes it on. */
  readonly url: string;
}

/**
 * Accounts and who is in them. What changes something is for the account's owners and admins, and for a browser's
 * session alone: 403 `session_wanted` for a token. Only an owner makes or takes out an owner.
 */
export interface Members {
  /** Makes a further account, owned by the user, with the default plan. @throws HttpError 403 `too_many_accounts` */
  createAccount(exchange: Exchange, form: { name: string }): Promise<Principal["account"]>;
  /** Renames the current account. */
  rename(exchange: Exchange, form: { name: string }): Promise<void>;
  /** Has the session, or the grant of the token, work for another account of the user. */
  switchAccount(exchange: Exchange, accountId: string): Promise<void>;
  /** Of the current account. */
  list(principal: Principal): Promise<Member[]>;
  /** Those of the current account that can still be accepted. For its owners and admins. */
  invitations(principal: Principal): Promise<Invitation[]>;
  /**
   * Invites to the current account; mailed when that is possible. A user invites 20 at once, and one a minute.
   * @throws HttpError 409 `already_member`, 429 `too_many_attempts`
   */
  invite(exchange: Exchange, form: { email: string; role: Role }): Promise<Invitation & { mailed: boolean }>;
  cancelInvitation(exchange: Exchange, id: string): Promise<void>;
  /** For the page of an invitation. Null when it is used, cancelled or expired. */
  findInvitation(id: string): Promise<{ account: string; email: string; inviter: string; hasUser: boolean } | null>;
  /** Joins, and goes on in that account. @throws HttpError 403 `other_address` for another's invitation */
  acceptInvitation(exchange: Exchange, id: string): Promise<void>;
  /** @throws HttpError 409 `last_owner` */
  setRole(exchange: Exchange, memberId: string, role: Role): Promise<void>;
  /** Takes a member out, with what their clients may do there; oneself too. @throws HttpError 409 `last_owner` */
  remove(exchange: Exchange, memberId: string): Promise<void>;
}

/** One login of a client. */
export interface AuthorizedClient {
  readonly id: string;
  readonly client: string;
  readonly account: string;
  readonly scopes: readonly string[];
  /** Unix milliseconds: last used to get new tokens. */
  readonly usedAt: number;
  readonly expiresAt: number;
}

/** A browser in which a user is signed in. */
export interface BrowserSession {
  readonly id: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly expiresAt: number;
  /** Where it signed in from; "" when that is not known. */
  readonly address: string;
  /** What the browser calls itself. */
  readonly userAgent: string;
  /** Whether it is the one that asks. */
  readonly isCurrent: boolean;
}

/** Where a user is signed in. Only from a browser's session. */
export interface BrowserSessions {
  /** Those that have not expired, the newest first. */
  list(exchange: Exchange): Promise<BrowserSession[]>;
  /** Signs that browser out. */
  end(exchange: Exchange, id: string): Promise<void>;
}

/** A personal token, without the token itself: that is shown once, when it is made. */
export interface TokenInfo {
  readonly id: string;
  readonly name: string;
  readonly account: string;
  readonly scopes: readonly Scope[];
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly usedAt: number | null;
}

/** What clients of a user may do. Changes are for a browser's session alone: 403 `session_wanted` for a token. */
export interface Clients {
  /** Logins that have not expired, in all accounts of the user. */
  list(principal: Principal): Promise<AuthorizedClient[]>;
  /** Ends one login, and at once what it has open. */
  revoke(principal: Principal, id: string): Promise<void>;
  /** All personal tokens of the user, the newest first. */
  tokens(principal: Principal): Promise<TokenInfo[]>;
  /**
   * Makes a token for `PORTWAY_TOKEN`, good for the current account.
   * @param form `days` until it expires, 1 to 3650; null for none
   * @returns the token, which is not shown again
   * @throws HttpError 403 `too_many_tokens`
   */
  createToken(
    principal: Principal,
    form: { name: string; scopes: readonly Scope[]; days: number | null },
  ): Promise<{ token: string; info: TokenInfo }>;
  /** Ends a token, and at once what it has open. */
  revokeToken(principal: Principal, id: string): Promise<void>;
  /** What changed in the current account, the newest first. For its owners and admins. */
  audit(principal: Principal): Promise<AuditEntry[]>;
}

/** A user, as the server's admins see them. */
export interface UserInfo {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly isAdmin: boolean;
  readonly isSuspended: boolean;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly accounts: readonly {
    readonly id: string;
    readonly name: string;
    readonly plan: Plan;
    readonly role: Role;
  }[];
}

/** The whole server, for its admins: 403 `not_allowed` for everybody else. */
export interface Admin {
  /** Users by name or address, 50 a page. */
  users(principal: Principal, query: { search?: string; page?: number }): Promise<{ users: UserInfo[]; total: number }>;
  /** Changes an account's plan. @throws HttpError 404 */
  setPlan(principal: Principal, accountId: string, plan: Plan): Promise<void>;
  /** Ends all they have open, at once, or lets them again. @throws HttpError 409 `own_user` */
  setSuspended(principal: Principal, userId: string, isSuspended: boolean): Promise<void>;
  /** @throws HttpError 409 `own_user` */
  setAdmin(principal: Principal, userId: string, isAdmin: boolean): Promise<void>;
  /** Names of accounts by their ids; those that are gone are left out. */
  accountNames(principal: Principal, ids: readonly string[]): Promise<Map<string, string>>;
  /** Keeps in the audit log that an admin has suspended a tunnel, or lets it again. */
  noteTunnelSuspended(principal: Principal, tunnel: string, isSuspended: boolean): Promise<void>;
  /** A link by which that user sets a new password, for a day, to be passed on. */
  createResetLink(principal: Principal, userId: string): Promise<string>;
  /** What was done on the whole server, the newest first; a page of it. */
  audit(principal: Principal): Promise<AuditEntry[]>;
}
