/** What a login has open when it ends: by a logout, by a stolen refresh token, and by another login in its place. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { AuthorizedUser } from "./authorized_user.ts";
import { type Program, type Site, startSite, visit, within } from "./kit.ts";
import { type LoginServer, startLoginServer } from "./login_kit.ts";

const end = async (program: Program) => (await within("the end of the client", program.ended)).code;

interface Kept {
  accessToken: string;
  refreshToken: string;
}

function readLogin({ configDir }: LoginServer): Kept {
  const [name] = readdirSync(join(configDir, "logins")).filter((name) => name.endsWith(".json"));
  return JSON.parse(readFileSync(join(configDir, "logins", name), "utf8"));
}

async function logIn(made: LoginServer, user: AuthorizedUser): Promise<Kept> {
  await using login = made.start(["--login", "--no-browser"]);
  await user.enterCode(String((await login.events.waitFor("code")).userCode));
  assert.equal(await end(login), 0, login.errors.text);
  return readLogin(made);
}

/** A machine that is logged in, and a tunnel for it. */
async function prepare(made: LoginServer, site: Site): Promise<{ user: AuthorizedUser; url: string; kept: Kept }> {
  const user = await AuthorizedUser.signIn(made.server.url);
  const kept = await logIn(made, user);
  const tunnel = { name: "shop", defaultPort: site.port, allowedPorts: "all", enabled: true };
  return { user, url: String((await user.ask("POST", "/api/v1/tunnels", tunnel)).url), kept };
}

async function answers(url: string): Promise<boolean> {
  return await (await visit(`${url}/text`)).text() === "hello";
}

function callOAuth(made: LoginServer, path: string, fields: Record<string, string>): Promise<Response> {
  const body = new URLSearchParams({ client_id: "portway-cli", ...fields });
  return fetch(`${made.server.url}/api/auth/oauth2/${path}`, { method: "POST", body });
}

Deno.test("a logout ends the tunnels that this machine's login has open, and those of another machine go on", async () => {
  await using made = await startLoginServer();
  await using site = startSite();
  const { user, url } = await prepare(made, site);
  await using client = made.start(["-t", "shop"]);
  await client.events.waitFor("open");
  assert(await answers(url));
  const elsewhere = await user.ask("POST", "/api/v1/tunnels", { name: "other", defaultPort: 80, allowedPorts: "all" });
  const token = await user.createToken();
  await using other = made.start(["-t", "other", "-e", String(site.port)], { PORTWAY_TOKEN: token });
  await other.events.waitFor("open");

  await using logout = made.start(["--logout"]);
  assert.equal((await logout.events.waitFor("logout")).end, "revoked");
  assert.equal(await end(client), 1);
  assert.equal((await visit(url)).headers["portway-error"], "tunnel_offline");
  const otherUrl = String(elsewhere.url).replace(".", `--${site.port}.`);
  assert(await answers(otherUrl));
});

Deno.test("a refresh token that comes a second time ends the tunnels that its login has open", async () => {
  await using made = await startLoginServer();
  await using site = startSite();
  const { url, kept } = await prepare(made, site);
  await using client = made.start(["-t", "shop"]);
  await client.events.waitFor("open");
  const grant = { grant_type: "refresh_token", refresh_token: kept.refreshToken };
  const renewed = await callOAuth(made, "token", grant);
  assert.equal(renewed.status, 200, await renewed.text());
  assert(await answers(url), "renewing is no end");
  {
    // As if that had been an hour ago: within seconds it could be an answer that got lost.
    using database = new DatabaseSync(join(made.server.dataDir, "portway.db"));
    database.prepare("update oauthRefreshToken set revoked = ? where revoked is not null")
      .run(new Date(Date.now() - 3_600_000).toISOString());
  }
  const replayed = await callOAuth(made, "token", grant);
  assert.equal(replayed.status, 400, await replayed.text());
  assert.equal(await end(client), 1);
  assert.equal((await visit(url)).headers["portway-error"], "tunnel_offline");
});

Deno.test("a new login of the same user does not cut their tunnels, which then are the new login's", async () => {
  await using made = await startLoginServer();
  await using site = startSite();
  const { user, url, kept } = await prepare(made, site);
  await using client = made.start(["-t", "shop"]);
  await client.events.waitFor("open");
  const held = visit(`${url}/hold`);
  await site.log.waitFor("open /hold");

  const renewed = await logIn(made, user);
  assert.notEqual(renewed.accessToken, kept.accessToken);
  const old = await fetch(`${made.server.url}/api/v1/whoami`, {
    headers: { authorization: `Bearer ${kept.accessToken}` },
  });
  assert.equal(old.status, 401, await old.text());
  assert(await answers(url));

  await using logout = made.start(["--logout"]);
  assert.equal((await logout.events.waitFor("logout")).end, "revoked");
  assert.equal(await end(client), 1);
  assert.equal((await held).status, 503);
});

Deno.test("a login of somebody else does not take over what the one before has open", async () => {
  await using made = await startLoginServer(["--signup", "open"]);
  await using site = startSite();
  const { url, kept } = await prepare(made, site);
  await using client = made.start(["-t", "shop"]);
  await client.events.waitFor("open");
  const stranger = await AuthorizedUser.signUp(made.server.url, "mallory@example.com");
  const { accessToken } = await logIn(made, stranger);
  assert.notEqual(accessToken, kept.accessToken);
  assert.equal(await end(client), 1);
  assert.equal((await visit(url)).headers["portway-error"], "tunnel_offline");
});
