import type { Connect } from "../../net/connection/mod.ts";
import {
  ApiRefused,
  ApiUnreachable,
  CLIENT_ID,
  discoverOAuth,
  type Login,
  type Logins,
  OAuthRefused,
  postForm,
} from "../api/mod.ts";

/** The server, and the store that holds its login. */
export interface LogOutOptions {
  server: URL;
  connect: Connect;
  logins: Logins;
}

/**
 * The result of a logout. `revoked`: the server revoked the login. `kept`: the user created the token on the server's
 * website, where it remains valid. `not_told`: the local login is deleted, but revocation failed for the given reason.
 */
export type LogOutEnd = { end: "none" | "revoked" | "kept" } | { end: "not_told"; reason: string };

/** Revokes the login at a server and deletes it locally, even if its file is damaged. Throws system errors. */
export async function logOut({ server, connect, logins }: LogOutOptions): Promise<LogOutEnd> {
  // The lock stops other programs from renewing the login, because the new tokens would remain.
  return await logins.withLock(server, async () => {
    const isThere = logins.has(server), login = logins.loadUndamaged(server);
    logins.remove(server);
    if (!isThere) return { end: "none" };
    if (login === null) return { end: "not_told", reason: "its file is damaged" };
    if (login.refreshToken === null && login.expiresAt === null) return { end: "kept" };
    const reason = await revokeLogin({ server, connect }, login);
    return reason === null ? { end: "revoked" } : { end: "not_told", reason };
  });
}

/** The server for the revocation request. */
export interface RevokeOptions extends Pick<LogOutOptions, "server" | "connect"> {
  /** The new login's access token, which open tunnels switch to. */
  replacedBy?: string;
}

/**
 * Revokes a login at the server. If that fails, its tokens stay valid until they expire.
 * @returns null, or the reason for the failure
 */
export async function revokeLogin(
  { server, connect, replacedBy }: RevokeOptions,
  login: Login,
): Promise<string | null> {
  if (login.refreshToken === null && login.expiresAt === null) return null;
  try {
    const { revocation } = await discoverOAuth(connect, server);
    if (revocation === null) return "it has no revocation endpoint";
    const tokens = [["access_token", login.accessToken], ["refresh_token", login.refreshToken]] as const;
    const extra = replacedBy === undefined ? undefined : { replaced_by: replacedBy };
    for (const [kind, token] of tokens) {
      if (token !== null) await revoke(connect, revocation, { token, token_type_hint: kind, ...extra });
    }
    return null;
  } catch (error) {
    const isExpected = error instanceof ApiUnreachable || error instanceof ApiRefused || error instanceof OAuthRefused;
    if (!isExpected) throw error;
    return error.message;
  }
}

async function revoke(connect: Connect, endpoint: URL, fields: Readonly<Record<string, string>>): Promise<void> {
  try {
    await postForm(connect, endpoint, { client_id: CLIENT_ID, ...fields });
  } catch (error) {
    // An expired or revoked token is already unusable, which is the intended result.
    if (!(error instanceof OAuthRefused && OVER.has(error.code))) throw error;
  }
}

const OVER: ReadonlySet<string> = new Set(["invalid_request", "invalid_grant", "invalid_token"]);
