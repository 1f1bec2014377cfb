import { deepEqual, equal, notEqual, ok, rejects } from "node:assert/strict";
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
  /** The first page that the browser opened. */
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

/** Signs in and allows the client. @returns the client's redirect URL */
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

async function refresh(server: TestServer, token: string | undefined): Promise<oauth.TokenEndpointResponse> {
  const as = await discover(server);
  const response = await oauth.refreshTokenGrantRequest(as, CLIENT, NONE, token ?? "", LOOPBACK);
  return await oauth.processRefreshTokenResponse(as, CLIENT, response);
}

async function revoke(server: TestServer, token: string | undefined): Promise<void> {
  const as = await discover(server);
  const response = await oauth.revocationRequest(as, CLIENT, NONE, token ?? "", LOOPBACK);
  await oauth.processRevocationResponse(response);
}

/** Whether an error is that OAuth error. */
const isOAuthError = (code: string) => (error: unknown) =>
  error instanceof oauth.ResponseBodyError && error.error === code;

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
  deepEqual({ role, plan }, { role: "owner", plan: "paid" });
});

testStores("a refresh token gives new tokens once, and again for a moment when the answer was lost", async (store) => {
  await using server = await startAccounts(store);
  const first = await logIn(server);
  const second = await refresh(server, first.refresh_token);
  notEqual(second.access_token, first.access_token);
  notEqual(second.refresh_token, first.refresh_token);
  equal((await whoami(server, second.access_token)).status, 200);
  const again = await refresh(server, first.refresh_token);
  equal(again.refresh_token, second.refresh_token);
  equal((await whoami(server, again.access_token)).status, 200);
});

testStores("a refresh token that comes again later ends all tokens of that login, and of no other", async (store) => {
  await using server = await startAccounts(store);
  const stolen = await logIn(server), other = await logIn(server);
  const current = await refresh(server, stolen.refresh_token);
  equal((await whoami(server, current.access_token)).status, 200);
  // Simulates that the grace period for lost responses is over.
  const past = new Date(Date.now() - 60_000).toISOString();
  await store.db.updateTable("oauthRefreshToken").set({ revoked: past, rotatedAt: past, rotationReplayExpiresAt: past })
    .where("revoked", "is not", null).execute();
  await rejects(refresh(server, stolen.refresh_token), isOAuthError("invalid_grant"));
  equal((await whoami(server, current.access_token)).status, 401);
  await rejects(refresh(server, current.refresh_token), isOAuthError("invalid_grant"));
  equal((await whoami(server, other.access_token)).status, 200);
  ok(await refresh(server, other.refresh_token));
  const log = await store.auditLog.list({ limit: 10 });
  ok(log.some(({ action, actor }) => action === "client_revoked" && actor === "server"));
});

testStores("revoking either token ends the login at once, remembered or not", async (store) => {
  await using server = await startAccounts(store);
  for (const which of ["access_token", "refresh_token"] as const) {
    const tokens = await refresh(server, (await logIn(server)).refresh_token);
    equal((await whoami(server, tokens.access_token)).status, 200);
    await revoke(server, tokens[which]);
    equal((await whoami(server, tokens.access_token)).status, 401);
    await rejects(refresh(server, tokens.refresh_token), isOAuthError("invalid_grant"));
  }
  // A second revocation and an unknown token get the same response (RFC 7009, section 2.2).
  await revoke(server, "pwr_unknown");
});

testStores("a client is revoked by its user, and a login can be moved to another account", async (store) => {
  await using server = await startAccounts(store);
  const browser = server.browse();
  const tokens = await logIn(server, browser);
  const { body: account } = await browser.post("create-account", { name: "Ants Ltd" });
  const switchTo = (id: string, token: string) =>
    fetch(`${server.url}/api/v1/accounts/${id}/switch`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
    });
  const switched = await switchTo(account.id, tokens.access_token);
  equal((await switched.json()).account.name, "Ants Ltd");
  const next = await refresh(server, tokens.refresh_token);
  equal(((await whoami(server, next.access_token)).body.account as { name: string }).name, "Ants Ltd");
  const unknown = await switchTo("none", next.access_token);
  deepEqual([unknown.status, (await unknown.json()).error.code], [404, "not_found"]);
  const { body: clients } = await browser.post("clients");
  deepEqual(clients.map(({ client, account, scopes }) => [client, account, scopes]), [
    ["Portway on the command line", "Ants Ltd", ["tunnels:use", "views:read"]],
  ]);
  equal((await browser.post("revoke-client", { id: clients[0].id })).status, 200);
  equal((await whoami(server, next.access_token)).status, 401);
  equal((await browser.post("revoke-client", { id: clients[0].id })).status, 404);
});

testStores("any loopback port will do, and no other address, verifier, state or second use", async (store) => {
  await using server = await startAccounts(store);
  const browser = server.browse();
  const elsewhere = await begin(server, browser, { redirect: "http://localhost:50123/" });
  ok(await exchangeCode(server, elsewhere, await allow(server, browser, elsewhere)));
  for (const redirect of ["https://evil.example/", "http://localhost:7332/other", "http://localhost.evil.example/"]) {
    const { page } = await begin(server, browser, { redirect });
    equal(page.origin + page.pathname, `${server.url}/authorize`, redirect);
    ok(page.searchParams.get("error")?.startsWith("invalid_"), page.search);
  }
  const wrong = await begin(server, browser);
  const callback = await allow(server, browser, wrong);
  equal(callback.origin, "http://localhost:7332");
  await rejects(exchangeCode(server, wrong, callback, oauth.generateRandomCodeVerifier()));
  // The attempt used the code up.
  await rejects(exchangeCode(server, wrong, callback), isOAuthError("invalid_grant"));
  const used = await begin(server, browser);
  const answer = await allow(server, browser, used);
  const tokens = await exchangeCode(server, used, answer);
  await rejects(exchangeCode(server, used, answer), isOAuthError("invalid_grant"));
  // A code that arrives twice was stolen, so its tokens end (RFC 6749, section 4.1.2).
  await rejects(refresh(server, tokens.refresh_token), isOAuthError("invalid_grant"));
});

testStores("a client without PKCE, of another name or with scopes that nobody knows gets no code", async (store) => {
  await using server = await startAccounts(store);
  const as = await discover(server), browser = server.browse();
  await browser.post("sign-in", ADMIN);
  const ask = async (change: Record<string, string>) => {
    const url = new URL(as.authorization_endpoint ?? "");
    const query = { client_id: "portway-cli", response_type: "code", redirect_uri: "http://localhost:7332/" };
    url.search = new URLSearchParams({ ...query, scope: SCOPE, state: "s", ...change }).toString();
    const { headers } = await browser.request(url.href);
    const { search, hash } = new URL(headers.get("location") ?? "", server.url);
    return new URLSearchParams(search || hash.slice(1)).get("error");
  };
  equal(await ask({}), "invalid_request");
  equal(await ask({ code_challenge: "x".repeat(43), code_challenge_method: "plain" }), "invalid_request");
  const pkce = { code_challenge: "x".repeat(43), code_challenge_method: "S256" };
  equal(await ask({ ...pkce, client_id: "other" }), "invalid_client");
  equal(await ask({ ...pkce, scope: "openid admin" }), "invalid_scope");
  equal(await ask({ ...pkce, response_type: "token" }), "unsupported_response_type");
});

testStores("a user can say no, and is always asked", async (store) => {
  await using server = await startAccounts(store);
  const browser = server.browse();
  await logIn(server, browser);
  const { page } = await begin(server, browser);
  equal(page.pathname, "/authorize");
  const { body } = await browser.post("authorize", { query: page.search.slice(1), accept: false });
  const { searchParams } = new URL(body.next);
  equal(searchParams.get("error"), "access_denied");
  const forged = new URLSearchParams(page.search);
  forged.set("scope", "openid tunnels:write");
  const { body: refused } = await browser.post("authorize", { query: forged.toString(), accept: true });
  equal(refused.error.code, "login_expired");
});

testStores("a device gets its tokens once its user has allowed it, for the account they chose", async (store) => {
  await using server = await startAccounts(store);
  const as = await discover(server), browser = server.browse();
  await browser.post("sign-in", ADMIN);
  const { body: account } = await browser.post("create-account", { name: "Ants Ltd" });
  const ask = async () => {
    const parameters = new URLSearchParams({ scope: SCOPE });
    const response = await oauth.deviceAuthorizationRequest(as, CLIENT, NONE, parameters, LOOPBACK);
    return await oauth.processDeviceAuthorizationResponse(as, CLIENT, response);
  };
  const fetchTokens = async (code: string) => {
    // A client that polls faster than every five seconds is refused.
    await store.db.updateTable("deviceCode").set({ lastPolledAt: null }).execute();
    const response = await oauth.deviceCodeGrantRequest(as, CLIENT, NONE, code, LOOPBACK);
    return await oauth.processDeviceCodeResponse(as, CLIENT, response);
  };
  const asked = await ask();
  equal(new URL(asked.verification_uri).pathname, "/device");
  await rejects(fetchTokens(asked.device_code), isOAuthError("authorization_pending"));
  const code = `${asked.user_code.slice(0, 4)}-${asked.user_code.slice(4)}`.toLowerCase();
  const { body: request } = await browser.post("describe-device", { code });
  deepEqual(request.scopes.map(({ scope }: { scope: string }) => scope), ["tunnels:use", "views:read"]);
  equal((await browser.post("describe-device", { code: "WRONG234" })).body.error.code, "code_unknown");
  equal((await server.browse().post("device", { code, accept: true })).status, 401);
  const allowed = await browser.post("device", { code, accept: true, accountId: account.id });
  equal(allowed.status, 200, JSON.stringify(allowed.body));
  const results = await Promise.allSettled(Array.from({ length: 4 }, () => fetchTokens(asked.device_code)));
  const [tokens, ...others] = results.flatMap((result) => result.status === "fulfilled" ? result.value : []);
  equal(others.length, 0);
  for (const result of results) {
    if (result.status === "rejected") ok(result.reason instanceof oauth.ResponseBodyError, String(result.reason));
  }
  const { body } = await whoami(server, tokens.access_token);
  equal((body.account as { name: string }).name, "Ants Ltd");
  await rejects(fetchTokens(asked.device_code), isOAuthError("invalid_grant"));
  const next = await refresh(server, tokens.refresh_token);
  equal((await whoami(server, next.access_token)).status, 200);
  equal((await browser.post("clients")).body.length, 1);
  const denied = await ask();
  equal((await browser.post("device", { code: denied.user_code, accept: false })).status, 200);
  await rejects(fetchTokens(denied.device_code), isOAuthError("access_denied"));
});

testStores("of better-auth nothing is open but what clients of OAuth need", async (store) => {
  await using server = await startAccounts(store);
  const browser = server.browse();
  await browser.post("sign-in", ADMIN);
  const paths = ["sign-up/email", "sign-in/email", "update-user", "delete-user", "organization/create", "device/token"];
  for (
    const path of [...paths, "oauth2/consent", "oauth2/introspect", "oauth2/register", "admin/oauth2/create-client"]
  ) {
    const headers = { origin: server.url, "content-type": "application/json" };
    const { status } = await browser.request(`/api/auth/${path}`, { method: "POST", headers, body: "{}" });
    equal(status, 404, path);
  }
  for (const path of ["get-session", "token", "ok", "error", "oauth2/get-clients", "device?user_code=ABCDEFGH"]) {
    equal((await browser.request(`/api/auth/${path}`)).status, 404, path);
  }
});

testStores(
  "a code that is exchanged several times simultaneously opens one login or none, and never fails",
  async (store) => {
    await using server = await startAccounts(store);
    const browser = server.browse();
    for (let round = 0; round < 5; round++) {
      const begun = await begin(server, browser), callback = await allow(server, browser, begun);
      const results = await Promise.allSettled(Array.from({ length: 4 }, () => exchangeCode(server, begun, callback)));
      for (const result of results) {
        if (result.status === "rejected") ok(isOAuthError("invalid_grant")(result.reason), String(result.reason));
      }
      const opened = results.filter((result) => result.status === "fulfilled");
      equal(opened.length, 1);
      // The replay ended the login.
      for (const { value } of opened) equal((await whoami(server, value.access_token)).status, 401);
    }
  },
);

testStores("a refresh token that is used several times simultaneously gives the same new tokens", async (store) => {
  await using server = await startAccounts(store);
  const first = await logIn(server);
  const results = await Promise.all(Array.from({ length: 4 }, () => refresh(server, first.refresh_token)));
  equal(new Set(results.map(({ refresh_token }) => refresh_token)).size, 1);
  for (const { access_token } of results) equal((await whoami(server, access_token)).status, 200);
});

testStores("a code that comes again ends the access token of the first exchange at once", async (store) => {
  await using server = await startAccounts(store);
  const browser = server.browse();
  const begun = await begin(server, browser), callback = await allow(server, browser, begun);
  const tokens = await exchangeCode(server, begun, callback);
  equal((await whoami(server, tokens.access_token)).status, 200);
  await rejects(exchangeCode(server, begun, callback), isOAuthError("invalid_grant"));
  equal((await whoami(server, tokens.access_token)).status, 401);
  await rejects(refresh(server, tokens.refresh_token), isOAuthError("invalid_grant"));
});

testStores("two servers on one database exchange a code once", async (store) => {
  const one = await startAccounts(store), other = await startAccounts(store, { origin: one.url });
  await using _one = one, _other = other;
  const browser = one.browse();
  for (let round = 0; round < 5; round++) {
    const begun = await begin(one, browser), callback = await allow(one, browser, begun);
    const body = new URLSearchParams({
      grant_type: "authorization_code",
      client_id: CLIENT.client_id,
      code: callback.searchParams.get("code") ?? "",
      redirect_uri: begun.redirect,
      code_verifier: begun.verifier,
    });
    const results = await Promise.all(
      [one, other].map(({ url }) => fetch(`${url}/api/auth/oauth2/token`, { method: "POST", body })),
    );
    const statuses = results.map(({ status }) => status).sort();
    for (const result of results) await result.body?.cancel();
    ok(statuses[1] === 400 && (statuses[0] === 200 || statuses[0] === 400), statuses.join());
  }
});
