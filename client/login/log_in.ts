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

/** What this program does for its user; who they are, and a login that lasts, come with it. */
const SCOPE = "openid offline_access tunnels:use views:read views:write";

/** Where to log in, in which way, and what is told of it meanwhile. */
export interface LogInOptions {
  server: URL;
  connect: Connect;
  /** Where the login is kept. */
  logins: Logins;
  env: Readonly<Record<string, string | undefined>>;
  /** The port of this machine that the browser returns to. */
  port: number;
  /** Whether a browser of this machine may be opened. */
  isBrowserWanted: boolean;
  /** Gives it up. */
  signal: AbortSignal;
  /** A page is being shown in the browser. */
  onPage(url: string): void;
  /** A code is to be entered in a browser anywhere. */
  onCode(code: DeviceCode): void;
  /** Tells the user something. */
  note(text: string): void;
}

/**
 * Logs in at a server and keeps the login in place of the one before: through the browser of this machine, or with a
 * code where there is none, where it does not open, and where the port is taken.
 * @throws LoginFailed, ApiUnreachable, ApiRefused, and what the system says when the login cannot be kept
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

/** There is a browser to be opened, and it did not open. */
class NoBrowser extends Error {
  override name = "NoBrowser";
}

/** The login through the browser of this machine, or null where that cannot be. */
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
 * Checks a token that its user has made on the server's site, and keeps it as the login.
 * @throws LoginFailed when the server does not take it, ApiUnreachable, ApiRefused, and what the system says
 */
export async function logInWithToken(
  options: Pick<LogInOptions, "server" | "connect" | "logins">,
  token: string,
): Promise<Whoami> {
  try {
    return await keep(options, { accessToken: token, refreshToken: null, expiresAt: null });
  } catch (error) {
    if (!(error instanceof LoginNeeded)) throw error;
    throw new LoginFailed(`the server ${options.server.origin} does not take this token`, { cause: error });
  }
}

/**
 * Finds out whom the tokens stand for, keeps them, and ends the login that was there before: what runs on it goes on with
 * this one, if it is the same user's.
 */
async function keep(
  { server, connect, logins }: Pick<LogInOptions, "server" | "connect" | "logins">,
  tokens: IssuedTokens,
): Promise<Whoami> {
  const api = createApiClient({ server, connect, tokens: createFixedTokens(tokens.accessToken, "this login") });
  const whoami = await fetchWhoami(api);
  // No other program renews the one before meanwhile: it would be kept in place of this one.
  return await logins.withLock(server, async () => {
    const before = logins.loadUndamaged(server);
    logins.save({ ...tokens, server: server.origin, loggedInAt: Date.now() });
    const isOther = before !== null && before.accessToken !== tokens.accessToken;
    if (isOther) await revokeLogin({ server, connect, replacedBy: tokens.accessToken }, before);
    return whoami;
  });
}
