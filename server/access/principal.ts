import { HttpError } from "../../common/http_error.ts";
import type { Exchange } from "../../net/listener/mod.ts";

/** What a client may be allowed to do, in words for the screen that asks its user. */
export const SCOPES = {
  "tunnels:use": "open your persistent tunnels and list them",
  "tunnels:write": "create, change and delete your persistent tunnels",
  "views:read": "read your request views and what they captured",
  "views:write": "create, change and delete your request views",
} as const;

/** What a token may do, as OAuth and the API name it. */
export type Scope = keyof typeof SCOPES;

/** What a member may do in an account: `owner` and `admin` manage its members, `member` uses it. */
export type Role = "owner" | "admin" | "member";

/** What an account has: persistent tunnels need a paid one. */
export type Plan = "free" | "paid";

/** Who asks, and for which of their accounts. */
export interface Principal {
  readonly user: { readonly id: string; readonly name: string; readonly email: string; readonly isAdmin: boolean };
  readonly account: {
    readonly id: string;
    readonly name: string;
    readonly plan: Plan;
    readonly role: Role;
  };
  /** What they may do here: a browser's session may do everything, a token what its user allowed. */
  readonly scopes: ReadonlySet<Scope>;
  /** A browser's session by its cookie, or a token of a client. */
  readonly via: "session" | "token";
  /**
   * The login by which the principal came, as an id that grants nothing: a client's login, a personal token, or a
   * browser's session. It ends when it is revoked or signed out.
   */
  readonly login?: string;
}

/**
 * Finds out who asks: by a Bearer token, or by the cookie of a browser's session. Null for nobody.
 * @throws HttpError 401 for a token that is unknown, expired or revoked, 403 for a user who was suspended, and 403 for a
 * request of a browser's session that changes something and comes from another origin
 */
export type Authenticate = (exchange: Exchange) => Promise<Principal | null>;

/**
 * Lets through who has logged in.
 * @throws HttpError 401 `unauthorized` for nobody
 */
export function requireLogin(principal: Principal | null): Principal {
  if (principal !== null) return principal;
  throw new HttpError(401, "unauthorized", "This needs a login.", {
    details: "Log in with portway --login, or send a token as Authorization: Bearer.",
    headers: { "www-authenticate": "Bearer" },
  });
}

/**
 * Lets through who may do what `scope` stands for.
 * @throws HttpError 401 `unauthorized` for nobody, 403 `scope_missing`, which names the scope
 */
export function requireScope(principal: Principal | null, scope: Scope): Principal {
  const known = requireLogin(principal);
  if (known.scopes.has(scope)) return known;
  throw new HttpError(403, "scope_missing", `This token lacks the scope ${scope}.`, {
    details: "Log in again and allow it.",
    headers: { "www-authenticate": `Bearer error="insufficient_scope", scope="${scope}"` },
  });
}
