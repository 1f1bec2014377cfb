import { createHash, randomBytes } from "node:crypto";
import type { Connect } from "../../net/connection/mod.ts";
import { delay } from "../../common/delay.ts";
import { CLIENT_ID, type IssuedTokens, type OAuthEndpoints, OAuthRefused, requestTokens } from "../api/mod.ts";
import { type Callback, listenForCallback } from "./callback.ts";
import { LoginFailed } from "./login_failed.ts";
import { type LoginPage, strong } from "./page.ts";

/** What a login by the browser of this machine needs (RFC 8252, with PKCE). */
export interface CodeFlowOptions {
  connect: Connect;
  endpoints: OAuthEndpoints;
  scope: string;
  /** Of this machine, to which the browser returns. */
  port: number;
  /** Gives it up. */
  signal: AbortSignal;
  /** Shows the server's page to the user. What it gives rejects when that turns out to be impossible. */
  showPage(url: string): Promise<void>;
}

/** Tokens, and a browser that waits to be told. */
export interface CodeLogin {
  tokens: IssuedTokens;
  /** Greets in the browser. */
  greet(user: string, account: string): Promise<void>;
  /** Tells the browser that it came to nothing. */
  fail(reason: string): Promise<void>;
  /** Listens no more. */
  close(): Promise<void>;
}

/** How long a user may take in the browser, sign-up included. */
const LONGEST_MS = 15 * 60_000;

/**
 * Logs in through the browser of this machine: OAuth's authorization code with PKCE and state (RFC 8252).
 * @throws PortTaken, LoginFailed when it was denied or given up, what `showPage` rejects with, ApiUnreachable, ApiRefused
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
      greet: (user, account) => callback.answer(createGreeting(user, account)),
      fail: (reason) => callback.answer(failure(reason)),
      close: () => listener.close(),
    };
  } catch (error) {
    await listener.close();
    throw error;
  } finally {
    isOver.abort();
  }
}

/** 256 bits as URL-safe text, which is a code verifier too (RFC 7636, section 4.1). */
const createSecret = () => randomBytes(32).toString("base64url");

/** Where the server sends the browser back to. */
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

/** Rejects when the user gave it up or nobody came; at `isOver` too, when nobody waits for it any more. */
async function giveUp(signal: AbortSignal, isOver: AbortSignal): Promise<never> {
  await delay(LONGEST_MS, AbortSignal.any([signal, isOver]));
  throw new LoginFailed(signal.aborted ? "the login was given up" : "nobody logged in within 15 minutes");
}

/** Changes the code of a return into tokens. What goes wrong is told to the browser too. */
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
    await callback.answer(isDenied ? DENIED : failure(failed instanceof Error ? failed.message : String(failed)));
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
