import { HttpError } from "../../common/http_error.ts";
import type { Exchange } from "../../net/listener/mod.ts";
import {
  isHarmless,
  type Plan,
  type Principal,
  requireOwnOrigin,
  type Role,
  type Scope,
  SCOPES,
} from "../access/mod.ts";
import type { Membership, Store, User } from "../store/mod.ts";
import { ACCESS_TOKEN_PREFIX } from "./better_auth/auth_options.ts";
import { type Call, fieldText, userSuspended } from "./better_auth/call.ts";
import { hashSecret } from "../../common/secret.ts";

/** The credential that a client presented. */
export type Credential =
  | { readonly kind: "session"; readonly token: string }
  | { readonly kind: "grant"; readonly grantId: string }
  | { readonly kind: "personal"; readonly tokenId: string };

/** The caller with its credential. */
export interface Identity {
  readonly principal: Principal;
  readonly credential: Credential;
}

/** The dependencies of {@link Identifier}. */
export interface IdentifierOptions {
  store: Pick<Store, "identities" | "personalTokens">;
  call: Call;
  /** HQ's origin. */
  origin: string;
  /** The name of a browser's session cookie. */
  sessionCookie: string;
  now(): number;
  /** Receives errors that do not affect the response. */
  onFailure(error: unknown): void;
}

/** Another server on the same database applies a revocation after this time; this one applies it at once. */
const REMEMBERED_MS = 5000;
/** Credentials that stay in memory. */
const MAX_REMEMBERED = 10_000;
const USED_EVERY_MS = 60_000;

interface Known {
  identity: Identity;
  until: number;
}

/** Authenticates requests and remembers the result for some seconds. */
export class Identifier {
  readonly #options: IdentifierOptions;
  readonly #known = new Map<string, Known>();
  /** Counts calls of {@link forget}, so that a look-up which was running then is not remembered. */
  #epoch = 0;

  constructor(options: IdentifierOptions) {
    this.#options = options;
  }

  /** Forgets all results, after any permission changed. */
  forget(): void {
    this.#epoch++;
    this.#known.clear();
  }

  /**
   * Returns the caller, or null for an unauthenticated request.
   * @throws HttpError as `Authenticate` documents
   */
  async identify(exchange: Exchange): Promise<Identity | null> {
    const token = /^Bearer +(\S{1,512})$/i.exec(exchange.header("authorization") ?? "")?.[1];
    if (token !== undefined) return await this.#find(`token ${hashSecret(token)}`, () => this.#findToken(token));
    const cookie = readCookie(exchange.header("cookie"), this.#options.sessionCookie);
    if (cookie === null) return null;
    const identity = await this.#find(`cookie ${hashSecret(cookie)}`, () => this.#findSession(cookie));
    if (identity !== null && !isHarmless(exchange)) requireOwnOrigin(exchange, this.#options.origin);
    return identity;
  }

  async #find(key: string, find: () => Promise<Known | null>): Promise<Identity | null> {
    const known = this.#known.get(key);
    if (known !== undefined && known.until > this.#options.now()) return known.identity;
    this.#known.delete(key);
    const epoch = this.#epoch;
    const found = await find();
    if (found === null) return null;
    if (epoch === this.#epoch) this.#remember(key, found);
    return found.identity;
  }

  #remember(key: string, { identity, until }: Known): void {
    const oldest = this.#known.keys().next().value;
    if (this.#known.size >= MAX_REMEMBERED && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(key, { identity, until: Math.min(until, this.#options.now() + REMEMBERED_MS) });
  }

  async #findToken(token: string): Promise<Known> {
    const known = token.startsWith(PERSONAL_TOKEN_PREFIX)
      ? await this.#findPersonalToken(token)
      : token.startsWith(ACCESS_TOKEN_PREFIX)
      ? await this.#findGrant(token.slice(ACCESS_TOKEN_PREFIX.length))
      : null;
    if (known === null || known.until <= this.#options.now()) throw tokenRefused();
    return known;
  }

  async #findGrant(token: string): Promise<Known | null> {
    const grant = await this.#options.store.identities.findGrant(hashSecret(token));
    if (grant === null || grant.accountId === null) return null;
    const { userId, accountId, grantId, scopes } = grant;
    const principal = await this.#findPrincipal(userId, accountId, readScopes(scopes), {
      via: "token",
      login: grantId,
    });
    if (principal === null || principal.account.id !== accountId) return null;
    return { identity: { principal, credential: { kind: "grant", grantId } }, until: grant.expiresAt };
  }

  async #findPersonalToken(text: string): Promise<Known | null> {
    const { store, now, onFailure } = this.#options;
    const token = await store.personalTokens.findByHash(hashSecret(text));
    if (token === null) return null;
    const { id, userId, accountId, scopes, usedAt } = token;
    const principal = await this.#findPrincipal(userId, accountId, readScopes(scopes), { via: "token", login: id });
    if (principal === null || principal.account.id !== accountId) return null;
    if (usedAt === null || usedAt < now() - USED_EVERY_MS) store.personalTokens.setUsed(id, now()).catch(onFailure);
    const until = token.expiresAt ?? Infinity;
    return { identity: { principal, credential: { kind: "personal", tokenId: id } }, until };
  }

  async #findSession(cookie: string): Promise<Known | null> {
    const caller = { cookie: `${this.#options.sessionCookie}=${cookie}`, address: "", userAgent: null };
    const { status, body } = await this.#options.call("/get-session", caller);
    if (status !== 200) throw new Error(`better-auth cannot read a session: ${status}`);
    const session = fieldOf(body, "session");
    const [id, token, userId] = ["id", "token", "userId"].map((field) => fieldText(session, field));
    if (id === null || token === null || userId === null) return null;
    const accountId = fieldText(session, "activeOrganizationId");
    const principal = await this.#findPrincipal(userId, accountId, ALL_SCOPES, { via: "session", login: id });
    if (principal === null) return null;
    return { identity: { principal, credential: { kind: "session", token } }, until: Infinity };
  }

  /** Finds the user in an account. A session whose user left its account gets the user's first account. */
  async #findPrincipal(
    userId: string,
    accountId: string | null,
    scopes: ReadonlySet<Scope>,
    by: Required<Pick<Principal, "via" | "login">>,
  ): Promise<Principal | null> {
    const { identities } = this.#options.store;
    const [user, memberships] = await Promise.all([identities.findUser(userId), identities.findMemberships(userId)]);
    const membership = memberships.find((one) => one.accountId === accountId) ?? memberships[0];
    if (user === null || membership === undefined) return null;
    if (user.isSuspended) throw userSuspended();
    return { user: describeUser(user), account: toAccount(membership), scopes, ...by };
  }
}

function describeUser({ id, name, email, isAdmin }: User): Principal["user"] {
  return { id, name, email, isAdmin };
}

/** Returns an account with its plan and role. */
export function toAccount({ accountId, accountName, plan, role }: Membership): Principal["account"] {
  return { id: accountId, name: accountName, plan: toPlan(plan), role: toRole(role) };
}

/** Returns the plan in a row, `free` for an unknown one. */
export const toPlan = (text: string | null): Plan => text === "paid" ? "paid" : "free";

/** Returns the strongest role: better-auth separates several by commas. */
export function toRole(text: string): Role {
  const roles = text.split(",");
  return roles.includes("owner") ? "owner" : roles.includes("admin") ? "admin" : "member";
}

/** Whether a text is a scope. */
export const isScope = (text: string): text is Scope => Object.hasOwn(SCOPES, text);

const ALL_SCOPES: ReadonlySet<Scope> = new Set(Object.keys(SCOPES).filter(isScope));

const readScopes = (texts: readonly string[]): ReadonlySet<Scope> => new Set(texts.filter(isScope));

function fieldOf(body: unknown, field: string): unknown {
  return typeof body === "object" && body !== null ? Reflect.get(body, field) : null;
}

function readCookie(cookies: string | null, name: string): string | null {
  for (const pair of cookies?.split(";") ?? []) {
    const at = pair.indexOf("=");
    if (at >= 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return null;
}

const tokenRefused = (): HttpError =>
  new HttpError(401, "token_invalid", "This token is unknown, expired or revoked.", {
    details: "Log in again with portway --login.",
    headers: { "www-authenticate": 'Bearer error="invalid_token"' },
  });

/** The prefix of personal tokens, which secret scanners look for. */
export const PERSONAL_TOKEN_PREFIX = "pwt_";
