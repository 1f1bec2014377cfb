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

/** The server, and the logins of which its own ends. */
export interface LogOutOptions {
  server: URL;
  connect: Connect;
  logins: Logins;
}

/**
 * How a logout went. `revoked`: the server takes the login no more. `kept`: it was a token that its user made on the
 * server's site, where it stays. `not_told`: it is forgotten here, and the server could not be told, for a reason.
 */
export type LogOutEnd = { end: "none" | "revoked" | "kept" } | { end: "not_told"; reason: string };

/** Ends the login at a server and forgets it, a damaged one too. Throws what the system says. */
export async function logOut({ server, connect, logins }: LogOutOptions): Promise<LogOutEnd> {
  // No other program renews it meanwhile: what it got would stay.
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

/** The server that is told of the end of a login. */
export interface RevokeOptions extends Pick<LogOutOptions, "server" | "connect"> {
  /** The access token of the login that takes its place: what is open there goes on with that one. */
  replacedBy?: string;
}

/**
 * Tells a server that a login has ended. What is left of one that is not told ends with its time.
 * @returns null, or why it was not told
 */
export async function revokeLogin(
  { server, connect, replacedBy }: RevokeOptions,
  login: Login,
): Promise<string | null> {
  if (login.refreshToken === null && login.expiresAt === null) return null;
  try {
    const { revocation } = await discoverOAuth(connect, server);
    if (revocation === null) return "it has no way to end one";
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
    // A token that has expired, or was revoked on the server's site, is what was wanted.
    if (!(error instanceof OAuthRefused && OVER.has(error.code))) throw error;
  }
}

const OVER: ReadonlySet<string> = new Set(["invalid_request", "invalid_grant", "invalid_token"]);
