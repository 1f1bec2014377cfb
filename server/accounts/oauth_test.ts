import { deepEqual, equal, ok } from "node:assert/strict";
import * as oauth from "oauth4webapi";
import { testStores } from "../store/stores_kit_test.ts";
import { ADMIN, type Browser, startAccounts, type TestServer } from "./accounts_kit_test.ts";

const CLIENT: oauth.Client = { client_id: "portway-cli" };
const NONE = oauth.None();
const LOOPBACK = { [oauth.allowInsecureRequests]: true };
const SCOPE = "openid offline_access tunnels:use views:read";

async function discover({ url }: TestServer): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(url);
  const response = await oauth.discoveryRequest(issuer, { ...LOOPBACK, algorithm: "oauth2" });
  return await oauth.processDiscoveryResponse(issuer, response);
}

interface Begun {
  verifier: string;
  state: string;
  redirect: string;
  /** Where the browser went first. */
  page: URL;
}

async function begin(
  server: TestServer,
  browser: Browser,
  { redirect = "http://localhost:7332/", scope = SCOPE } = {},
): Promise<Begun> {
  const as = await discover(server);
  const verifier = oauth.generateRandomCodeVerifier(), state = oauth.generateRandomState();
  const url = new URL(as.authorization_endpoint ?? "");
  url.search = new URLSearchParams({
    client_id: CLIENT.client_id,
    response_type: "code",
    redirect_uri: redirect,
    scope,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  }).toString();
  const { status, headers } = await browser.request(url.href);
  equal(status, 302);
  return { verifier, state, redirect, page: new URL(headers.get("location") ?? "", server.url) };
}

/** The way of a user through sign-in and consent, to the client's own address. */
async function allow(server: TestServer, browser: Browser, begun: Begun): Promise<URL> {
  let page = begun.page;
  if (page.pathname === "/sign-in") {
    const signedIn = await browser.post("sign-in", { ...ADMIN, oauthQuery: page.search.slice(1) });
    equal(signedIn.status, 200, JSON.stringify(signedIn.body));
    page = new URL(signedIn.body.next, server.url);
  }
  equal(page.pathname, "/authorize");
  const { client, scopes } = server.accounts.consent.describe(page.search.slice(1));
  equal(client, "Portway on the command line");
  ok(scopes.length > 0 && scopes.every(({ words }) => words.length > 5));
  const { status, body } = await browser.post("authorize", { query: page.search.slice(1), accept: true });
  equal(status, 200, JSON.stringify(body));
  return new URL(body.next);
}

async function exchangeCode(server: TestServer, begun: Begun, callback: URL, verifier = begun.verifier) {
  const as = await discover(server);
  const parameters = oauth.validateAuthResponse(as, CLIENT, callback, begun.state);
  const response = await oauth.authorizationCodeGrantRequest(
    as,
    CLIENT,
    NONE,
    parameters,
    begun.redirect,
    verifier,
    LOOPBACK,
  );
  return await oauth.processAuthorizationCodeResponse(as, CLIENT, response);
}

/** Logs a client in. */
async function logIn(server: TestServer, browser = server.browse()): Promise<oauth.TokenEndpointResponse> {
  const begun = await begin(server, browser);
  return await exchangeCode(server, begun, await allow(server, browser, begun));
}

async function whoami({ url }: TestServer, token: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${url}/api/v1/whoami`, { headers: { authorization: `Bearer ${token}` } });
  return { status: response.status, body: await response.json() };
}

testStores("a client gets tokens with a code and PKCE, and they say who and what", async (store) => {
  await using server = await startAccounts(store);
  const tokens = await logIn(server);
  equal(tokens.token_type, "bearer");
  equal(tokens.expires_in, 900);
  deepEqual(tokens.scope?.split(" ").sort(), SCOPE.split(" ").sort());
  const { status, body } = await whoami(server, tokens.access_token);
  equal(status, 200, JSON.stringify(body));
  deepEqual(body.scopes, ["tunnels:use", "views:read"]);
  const { email, isAdmin } = body.user as Record<string, unknown>;
  deepEqual({ email, isAdmin }, { email: ADMIN.email, isAdmin: true });
  const { role, plan } = body.account as Record<string, unknown>;
  deepEqual({ role, plan }, { role: "owner", plan: "free" });
});
