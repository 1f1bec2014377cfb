import type { Connect } from "../../net/connection/mod.ts";
import {
  createApiClient,
  createFixedTokens,
  discoverOAuth,
  type IssuedTokens,
  LoginNeeded,
  type Logins,
  type OAuthEndpoints,
} from "../api/mod.ts";
import { openBrowser } from "./browser.ts";
import { PortTaken } from "./callback.ts";
import { type CodeLogin, logInByBrowser } from "./code_flow.ts";
import { type DeviceCode, logInByDevice } from "./device_flow.ts";
import { LoginFailed } from "./login_failed.ts";
import { revokeLogin } from "./log_out.ts";
import { fetchWhoami, type Whoami } from "./whoami.ts";

/** Tunnels and views, plus the user's identity (`openid`) and a refresh token (`offline_access`). */
const SCOPE = "openid offline_access tunnels:use views:read views:write";

/** The server, the login method and the progress callbacks. */
export interface LogInOptions {
  server: URL;
  connect: Connect;
  /** The store that receives the login. */
  logins: Logins;
  env: Readonly<Record<string, string | undefined>>;
  /** The local port for the browser redirect. */
  port: number;
  /** Allows opening a local browser. */
  isBrowserWanted: boolean;
  /** Cancels the login. */
  signal: AbortSignal;
  /** Called when the authorization page opens in the browser. */
  onPage(url: string): void;
  /** Called with a code that the user enters in any browser. */
  onCode(code: DeviceCode): void;
  /** Shows a message to the user. */
  note(text: string): void;
}

/**
 * Logs in and replaces the stored login. Uses the local browser, or a device code if no browser opens or the redirect
 * port is in use.
 * @throws LoginFailed; ApiUnreachable; ApiRefused; system errors if the login cannot be stored
 */
export async function logIn(options: LogInOptions): Promise<Whoami> {
  const { connect, server, signal } = options;
  const endpoints = await discoverOAuth(connect, server, signal);
  const browser = options.isBrowserWanted ? await tryBrowser(options, endpoints) : null;
  if (browser === null) {
    const tokens = await logInByDevice({ ...options, endpoints, scope: SCOPE });
    return await keep(options, tokens);
  }
  try {
    const whoami = await keep(options, browser.tokens);
    await browser.greet(whoami.user.name, whoami.account.name);
    return whoami;
  } catch (error) {
    await browser.fail(error instanceof Error ? error.message : String(error));
    throw error;
  } finally {
    await browser.close();
  }
}

/** The local browser is missing or failed to open. */
class NoBrowser extends Error {
  override name = "NoBrowser";
}

/** Logs in through the local browser. Returns null if no browser opens or the redirect port is in use. */
async function tryBrowser(options: LogInOptions, endpoints: OAuthEndpoints): Promise<CodeLogin | null> {
  const { connect, port, signal, env, note, onPage } = options;
  const showPage = async (url: string) => {
    const opened = openBrowser(url, env);
    if (opened === null) throw new NoBrowser("this machine has no browser to open");
    onPage(url);
    await opened.failed;
    throw new NoBrowser("the browser could not be opened");
  };
  try {
    return await logInByBrowser({ connect, endpoints, scope: SCOPE, port, signal, showPage });
  } catch (error) {
    if (!(error instanceof NoBrowser || error instanceof PortTaken)) throw error;
    note(`Logging in with a code: ${error.message}.`);
    return null;
  }
}

/**
 * Verifies a token from the server's website and stores it as the login.
 * @throws LoginFailed if the server rejects the token; ApiUnreachable; ApiRefused; system errors
 */
export async function logInWithToken(
  options: Pick<LogInOptions, "server" | "connect" | "logins">,
  token: string,
): Promise<Whoami> {
  try {
    return await keep(options, { accessToken: token, refreshToken: null, expiresAt: null });
  } catch (error) {
    if (!(error instanceof LoginNeeded)) throw error;
    throw new LoginFailed(`the server ${options.server.origin} rejected this token`, { cause: error });
  }
}

/**
 * Verifies the tokens, stores them and revokes the previous login. Open tunnels continue with the new login if both
 * logins belong to the same user.
 */
async function keep(
  { server, connect, logins }: Pick<LogInOptions, "server" | "connect" | "logins">,
  tokens: IssuedTokens,
): Promise<Whoami> {
  const api = createApiClient({ server, connect, tokens: createFixedTokens(tokens.accessToken, "this login") });
  const whoami = await fetchWhoami(api);
  // The lock stops other programs from renewing the previous login, which would overwrite this one.
  return await logins.withLock(server, async () => {
    const before = logins.loadUndamaged(server);
    logins.save({ ...tokens, server: server.origin, loggedInAt: Date.now() });
    const isOther = before !== null && before.accessToken !== tokens.accessToken;
    if (isOther) await revokeLogin({ server, connect, replacedBy: tokens.accessToken }, before);
    return whoami;
  });
}
