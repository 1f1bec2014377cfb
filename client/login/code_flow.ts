import { createHash, randomBytes } from "node:crypto";
import type { Connect } from "../../net/connection/mod.ts";
import { delay } from "../../common/delay.ts";
import { CLIENT_ID, type IssuedTokens, type OAuthEndpoints, OAuthRefused, requestTokens } from "../api/mod.ts";
import { type Callback, listenForCallback } from "./callback.ts";
import { LoginFailed } from "./login_failed.ts";
import { type LoginPage, strong } from "./page.ts";

/** Options for a login through the local browser (RFC 8252, with PKCE). */
export interface CodeFlowOptions {
  connect: Connect;
  endpoints: OAuthEndpoints;
  scope: string;
  /** The local port for the redirect. */
  port: number;
  /** Cancels the login. */
  signal: AbortSignal;
  /** Shows the authorization page to the user. The promise rejects if the page cannot be shown. */
  showPage(url: string): Promise<void>;
}

/** Issued tokens, and the browser that still waits for its final page. */
export interface CodeLogin {
  tokens: IssuedTokens;
  /** Shows a success page in the browser. */
  greet(user: string, account: string): Promise<void>;
  /** Shows an error page in the browser. */
  fail(reason: string): Promise<void>;
  /** Closes the local listener. */
  close(): Promise<void>;
}

/** Time limit for the user in the browser, including sign-up. */
const LONGEST_MS = 15 * 60_000;

/**
 * Logs in through the local browser, with an OAuth authorization code, PKCE and `state` (RFC 8252).
 * @throws PortTaken; LoginFailed if denied or cancelled; errors from `showPage`; ApiUnreachable; ApiRefused
 */
export async function logInByBrowser(options: CodeFlowOptions): Promise<CodeLogin> {
  const { endpoints, port } = options;
  const state = createSecret(), verifier = createSecret();
  const listener = await listenForCallback({ port, state, issuer: endpoints.issuer });
  const isOver = new AbortController();
  try {
    const shown = options.showPage(createAuthorizationUrl(options, state, verifier));
    const callback = await Promise.race([listener.called, neverOrThrow(shown), giveUp(options.signal, isOver.signal)]);
    const tokens = await takeCode(options, callback, verifier);
    return {
      tokens,
      greet: (user, account) => callback.respond(createGreeting(user, account)),
      fail: (reason) => callback.respond(failure(reason)),
      close: () => listener.close(),
    };
  } catch (error) {
    await listener.close();
    throw error;
  } finally {
    isOver.abort();
  }
}

/** Returns 256 random bits as URL-safe text, which is also a valid code verifier (RFC 7636, section 4.1). */
const createSecret = () => randomBytes(32).toString("base64url");

/** Returns the OAuth redirect URI. */
const redirectTo = (port: number) => `http://localhost:${port}/`;

function createAuthorizationUrl({ endpoints, scope, port }: CodeFlowOptions, state: string, verifier: string): string {
  const url = new URL(endpoints.authorization);
  const fields = {
    response_type: "code",
    client_id: CLIENT_ID,
    redirect_uri: redirectTo(port),
    scope,
    state,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(fields)) url.searchParams.set(name, value);
  return url.href;
}

function neverOrThrow(shown: Promise<void>): Promise<never> {
  return new Promise((_, reject) => void shown.catch(reject));
}

/** Rejects on cancellation or timeout. `isOver` also ends the timer once the result is no longer needed. */
async function giveUp(signal: AbortSignal, isOver: AbortSignal): Promise<never> {
  await delay(LONGEST_MS, AbortSignal.any([signal, isOver]));
  throw new LoginFailed(signal.aborted ? "the login was cancelled" : "the login timed out after 15 minutes");
}

/** Exchanges the authorization code for tokens. A failure is shown in the browser too. */
async function takeCode(options: CodeFlowOptions, callback: Callback, verifier: string): Promise<IssuedTokens> {
  const { connect, endpoints, port, signal } = options;
  const { returned } = callback;
  try {
    if (returned.error !== undefined) throw explainReturnedError(returned.error, returned.description);
    const grant = {
      grant_type: "authorization_code",
      code: returned.code,
      redirect_uri: redirectTo(port),
      code_verifier: verifier,
    };
    return await requestTokens(connect, endpoints, grant, signal);
  } catch (error) {
    const failed = error instanceof OAuthRefused
      ? new LoginFailed(`the server refused: ${error.message}`, { cause: error })
      : error;
    const isDenied = returned.error === "access_denied";
    await callback.respond(isDenied ? DENIED : failure(failed instanceof Error ? failed.message : String(failed)));
    throw failed;
  }
}

function explainReturnedError(error: string, description: string | null): LoginFailed {
  if (error === "access_denied") return new LoginFailed("the login was denied in the browser");
  return new LoginFailed(`the server refused: ${description ?? error}`);
}

const CLOSE = "You can close this page and go back to the terminal.";

const DENIED: LoginPage = {
  status: 200,
  title: "Not authorized",
  sentences: ["You denied it, so the command line got no access to your account.", CLOSE],
};

const failure = (reason: string): LoginPage => ({
  status: 200,
  title: "The login did not work",
  sentences: [`The command line says: ${reason}.`, CLOSE],
});

const createGreeting = (user: string, account: string): LoginPage => ({
  status: 200,
  title: `Hello, ${user}`,
  sentences: [`The command line is logged in to the account ${strong(account)}.`, CLOSE],
});
