import type { Exchange } from "../../net/listener/mod.ts";
import type { Authenticate, Ended, Plan, Principal, Role, Scope } from "../access/mod.ts";
import type { ApiArea, Handler } from "../http/mod.ts";
import type { AuditEntry } from "../store/mod.ts";
import type { OftenDone } from "./audit.ts";

/** Which people may sign up: all, invited ones, or none. */
export type SignUpPolicy = "open" | "invitation" | "closed";

/** The first user, from the operator's options. */
export interface FirstAdmin {
  /** Lower case. */
  email: string;
  password: string;
}

/**
 * Users, their accounts, and the clients that they allow. Every function throws `HttpError`, whose message may be
 * shown. Besides the documented errors: 400 `bad_request` with the field, 403 `not_allowed` for an insufficient role,
 * 404 `not_found` for missing objects and objects of others, and 503 while the database fails. Only {@link
 * authenticate} and {@link checkOrigin} check a request's origin, so a form's handler calls one of them first.
 */
export interface Accounts {
  /** Handle OAuth requests below `/api/auth/` and `/.well-known/`. */
  readonly handlers: readonly Handler[];
  /** The routes for `whoami` and for switching the account. */
  readonly api: ApiArea;
  readonly authenticate: Authenticate;
  /** Checks the origin of a form without a session. @throws HttpError 403 `foreign_origin` */
  checkOrigin(exchange: Exchange): void;
  /** Returns the current plan of an account; `free` for a missing one. */
  planOf(accountId: string): Promise<Plan>;
  /** Returns whether a user is suspended; true for a missing one. */
  isSuspended(userId: string): Promise<boolean>;
  /** Returns all accounts of a user, the oldest membership first. */
  accountsOf(principal: Principal): Promise<Principal["account"][]>;
  /** Logs a member's action in the account's audit log, at most once an hour. */
  note(principal: Principal, action: OftenDone, subject: string): Promise<void>;
  readonly entry: SignIn;
  readonly consent: Consent;
  readonly members: Members;
  readonly clients: Clients;
  readonly sessions: BrowserSessions;
  readonly admin: Admin;
  /** Creates the first user, an admin with an account, unless a user exists. */
  addFirstAdmin(admin: FirstAdmin): Promise<void>;
  /** Subscribes to permissions that end in this process. Holders end the open streams concerned at once. */
  onEnded(listener: (ended: Ended) => void): void;
  close(): void;
}

/** The result of a form that lets a user in. */
export interface Entered {
  /** `Set-Cookie` values for the response. */
  readonly cookies: readonly string[];
  /** The next URL in a client's login, or null outside such a login. */
  readonly next: string | null;
}

/** Signing up, in and out. */
export interface SignIn {
  readonly policy: SignUpPolicy;
  /** Whether the server sends mail. Otherwise admins pass on reset links, and members pass on invitations. */
  readonly sendsMail: boolean;
  /** Whether the first user, an admin, still has to be created through the link in the log. */
  needsSetUp(): Promise<boolean>;
  /** Creates the first user by the token in that link. @throws HttpError 403 `set_up_link_invalid` */
  setUp(exchange: Exchange, form: SignUpForm & { token: string }): Promise<Entered>;
  /**
   * Signs a user in.
   * @param form `oauthQuery` is the page's complete query when a client's login led to it
   * @throws HttpError 401 `wrong_credentials`, 403 `user_suspended`, 429 `too_many_attempts` with Retry-After, 400
   * `login_expired` for an outdated `oauthQuery`
   */
  signIn(exchange: Exchange, form: { email: string; password: string; oauthQuery?: string }): Promise<Entered>;
  /**
   * Creates a user with an account. With `invitationId` the user joins that account too.
   * @throws HttpError 403 `sign_up_closed`, 409 `email_taken`, 429 `too_many_attempts`
   */
  signUp(exchange: Exchange, form: SignUpForm & { invitationId?: string; oauthQuery?: string }): Promise<Entered>;
  /** Ends the browser's session. */
  signOut(exchange: Exchange): Promise<Entered>;
  /** Mails a reset link if the user exists and mail is configured, without revealing either. @throws HttpError 429 */
  forgot(exchange: Exchange, form: { email: string }): Promise<void>;
  /**
   * Sets a new password by a link's token, and ends all sessions, grants and tokens.
   * @throws HttpError 400 `link_invalid`
   */
  reset(exchange: Exchange, form: { token: string; password: string }): Promise<void>;
  /**
   * Ends all other sessions and all client logins.
   * @throws HttpError 401 `wrong_credentials`, 403 `session_wanted`, 429 `too_many_attempts`
   */
  changePassword(exchange: Exchange, form: { current: string; password: string }): Promise<Entered>;
}

/** The form for signing up. Passwords have 8 to 128 characters. */
export interface SignUpForm {
  name: string;
  email: string;
  password: string;
}

/** A client's request for permission. */
export interface AuthorizationRequest {
  readonly client: string;
  /** The requested scopes with their descriptions. */
  readonly scopes: readonly { readonly scope: Scope; readonly words: string }[];
}

/** The screens on which a user allows a client. */
export interface Consent {
  /** Describes the request in a query for `/authorize`. @throws HttpError 400 `login_expired`, `bad_request` */
  describe(query: string): AuthorizationRequest;
  /**
   * Allows or refuses a client for one of the signed-in user's accounts, by default the current one.
   * @returns the client's redirect URL
   * @throws as {@link describe} does; HttpError 403 `session_wanted`, 404 for another user's account
   */
  decide(exchange: Exchange, form: { query: string; accept: boolean; accountId?: string }): Promise<Entered>;
  /** Describes a device's request. @throws HttpError 404 `code_unknown`, 429 `too_many_attempts` */
  describeDevice(exchange: Exchange, code: string): Promise<AuthorizationRequest>;
  /** Does the same as {@link decide} for a device. @throws as {@link describeDevice} does */
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

/** A pending invitation. */
export interface Invitation {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  /** Unix milliseconds. */
  readonly expiresAt: number;
  /** The invitation's page, which the inviter may pass on. */
  readonly url: string;
}

/**
 * Accounts and their members. Changes need an owner or admin of the account in a browser's session: a token gets 403
 * `session_wanted`. Only an owner adds or removes owners.
 */
export interface Members {
  /** Creates another account for the user, with the default plan. @throws HttpError 403 `too_many_accounts` */
  createAccount(exchange: Exchange, form: { name: string }): Promise<Principal["account"]>;
  /** Renames the current account. */
  rename(exchange: Exchange, form: { name: string }): Promise<void>;
  /** Moves the session, or the token's grant, to another account of the user. */
  switchAccount(exchange: Exchange, accountId: string): Promise<void>;
  /** Lists the current account's members. */
  list(principal: Principal): Promise<Member[]>;
  /** Lists the current account's valid invitations, for its owners and admins. */
  invitations(principal: Principal): Promise<Invitation[]>;
  /**
   * Invites a person to the current account, by mail if configured. Each user may invite 20 people at once and one per
   * minute.
   * @throws HttpError 409 `already_member`, 429 `too_many_attempts`
   */
  invite(exchange: Exchange, form: { email: string; role: Role }): Promise<Invitation & { mailed: boolean }>;
  cancelInvitation(exchange: Exchange, id: string): Promise<void>;
  /** Returns an invitation for its page; null for a used, cancelled or expired one. */
  findInvitation(id: string): Promise<{ account: string; email: string; inviter: string; hasUser: boolean } | null>;
  /** Joins an account and switches to it. @throws HttpError 403 `other_address` for another person's invitation */
  acceptInvitation(exchange: Exchange, id: string): Promise<void>;
  /** Changes a member's role. @throws HttpError 409 `last_owner` */
  setRole(exchange: Exchange, memberId: string, role: Role): Promise<void>;
  /** Removes a member, or the caller, with their clients' permissions. @throws HttpError 409 `last_owner` */
  remove(exchange: Exchange, memberId: string): Promise<void>;
}

/** A client's login. */
export interface AuthorizedClient {
  readonly id: string;
  readonly client: string;
  readonly account: string;
  readonly scopes: readonly string[];
  /** Unix milliseconds: the last time the client got new tokens. */
  readonly usedAt: number;
  readonly expiresAt: number;
}

/** A browser in which a user is signed in. */
export interface BrowserSession {
  readonly id: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly expiresAt: number;
  /** The address of the sign-in; "" when unknown. */
  readonly address: string;
  /** The User-Agent. */
  readonly userAgent: string;
  /** Whether the request came from this session. */
  readonly isCurrent: boolean;
}

/** The browser sessions of a user. Only a browser's session may read or change them. */
export interface BrowserSessions {
  /** Lists valid sessions, the newest first. */
  list(exchange: Exchange): Promise<BrowserSession[]>;
  /** Signs a browser out. */
  end(exchange: Exchange, id: string): Promise<void>;
}

/** A personal token without its secret, which is shown only at its creation. */
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

/** Logins and tokens of a user. Changes need a browser's session: a token gets 403 `session_wanted`. */
export interface Clients {
  /** Lists valid logins in all accounts of the user. */
  list(principal: Principal): Promise<AuthorizedClient[]>;
  /** Ends a login and its open streams at once. */
  revoke(principal: Principal, id: string): Promise<void>;
  /** Lists all personal tokens of the user, the newest first. */
  tokens(principal: Principal): Promise<TokenInfo[]>;
  /**
   * Creates a token for `PORTWAY_TOKEN`, valid for the current account.
   * @param form `days` until it expires, 1 to 3650; null for no limit
   * @returns the token, which is not shown again
   * @throws HttpError 403 `too_many_tokens`
   */
  createToken(
    principal: Principal,
    form: { name: string; scopes: readonly Scope[]; days: number | null },
  ): Promise<{ token: string; info: TokenInfo }>;
  /** Ends a token and its open streams at once. */
  revokeToken(principal: Principal, id: string): Promise<void>;
  /** Lists the current account's audit entries, the newest first, for its owners and admins. */
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

/** The forms for the server's admins. Other users get 403 `not_allowed`. */
export interface Admin {
  /** Finds users by name or address, 50 per page. */
  users(principal: Principal, query: { search?: string; page?: number }): Promise<{ users: UserInfo[]; total: number }>;
  /** Changes an account's plan. @throws HttpError 404 */
  setPlan(principal: Principal, accountId: string, plan: Plan): Promise<void>;
  /**
   * Suspends a user, which ends all open streams at once, or lifts the suspension. @throws HttpError 409 `own_user`,
   * `last_admin`
   */
  setSuspended(principal: Principal, userId: string, isSuspended: boolean): Promise<void>;
  /** Makes a user an admin, or ends that. @throws HttpError 409 `own_user`, `last_admin` */
  setAdmin(principal: Principal, userId: string, isAdmin: boolean): Promise<void>;
  /** Returns account names by their ids, without deleted accounts. */
  accountNames(principal: Principal, ids: readonly string[]): Promise<Map<string, string>>;
  /** Logs that an admin suspended a tunnel or lifted the suspension. */
  noteTunnelSuspended(principal: Principal, tunnel: string, isSuspended: boolean): Promise<void>;
  /** Creates a link through which the user sets a new password, valid for a day. */
  createResetLink(principal: Principal, userId: string): Promise<string>;
  /** Lists the server's audit entries, the newest first, one page. */
  audit(principal: Principal): Promise<AuditEntry[]>;
}
