import { HttpError } from "../../common/http_error.ts";
import type { Exchange } from "../../net/listener/mod.ts";

/** The scopes that a client may get, with descriptions for the consent screen. */
export const SCOPES = {
  "tunnels:use": "open your persistent tunnels and list them",
  "tunnels:write": "create, change and delete your persistent tunnels",
  "views:read": "read your request views and what they captured",
  "views:write": "create, change and delete your request views",
} as const;

/** A permission of a token, named as in OAuth and the API. */
export type Scope = keyof typeof SCOPES;

/** A member's role: `owner` and `admin` manage members, `member` uses the account. */
export type Role = "owner" | "admin" | "member";

/** An account's plan. Persistent tunnels need the paid one. */
export type Plan = "free" | "paid";

/** The caller with the account in use. */
export interface Principal {
  readonly user: { readonly id: string; readonly name: string; readonly email: string; readonly isAdmin: boolean };
  readonly account: {
    readonly id: string;
    readonly name: string;
    readonly plan: Plan;
    readonly role: Role;
  };
  /** The permissions: all for a browser's session, and for a token the scopes that its user allowed. */
  readonly scopes: ReadonlySet<Scope>;
  /** A browser's session with a cookie, or a client's token. */
  readonly via: "session" | "token";
  /**
   * The caller's login as an id that grants no access: a client's login, a personal token, or a browser's session.
   * Revoking it or signing out ends it.
   */
  readonly login?: string;
}

/**
 * Finds the caller by a Bearer token or a session cookie. Returns null for an unauthenticated request.
 * @throws HttpError 401 for an unknown, expired or revoked token, 403 for a suspended user, and 403 when a page on
 * another origin tries to change data with a session
 */
export type Authenticate = (exchange: Exchange) => Promise<Principal | null>;

/**
 * Requires a login.
 * @throws HttpError 401 `unauthorized`
 */
export function requireLogin(principal: Principal | null): Principal {
  if (principal !== null) return principal;
  throw new HttpError(401, "unauthorized", "This needs a login.", {
    details: "Log in with portway --login, or send a token as Authorization: Bearer.",
    headers: { "www-authenticate": "Bearer" },
  });
}

/**
 * Requires a scope.
 * @throws HttpError 401 `unauthorized` without a login, 403 `scope_missing` with the scope's name
 */
export function requireScope(principal: Principal | null, scope: Scope): Principal {
  const known = requireLogin(principal);
  if (known.scopes.has(scope)) return known;
  throw new HttpError(403, "scope_missing", `This token lacks the scope ${scope}.`, {
    details: "Log in again and allow it.",
    headers: { "www-authenticate": `Bearer error="insufficient_scope", scope="${scope}"` },
  });
}
