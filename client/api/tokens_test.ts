import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { openConnector } from "../../net/connection/mod.ts";
import { type Login, Logins } from "./logins.ts";
import { createStoredTokens } from "./tokens.ts";
import { makeFolder, metadata, type Say, startTestServer } from "./_test_server.ts";

const login = (server: URL, fields: Partial<Login> = {}): Login => ({
  server: server.origin,
  accessToken: "a0",
  refreshToken: "r0",
  expiresAt: Date.now() + 1000,
  loggedInAt: 1,
  ...fields,
});

/** Simulates a token endpoint whose refresh tokens work once. */
function rotating(origin: () => string): Say {
  let count = 0;
  return ({ path, body }) => {
    if (path === "/.well-known/oauth-authorization-server") return [200, metadata(origin())];
    const form = new URLSearchParams(body);
    if (form.get("grant_type") !== "refresh_token" || form.get("client_id") !== "portway-cli") {
      return [400, { error: "invalid_request" }];
    }
    if (form.get("refresh_token") !== `r${count}`) return [400, { error: "invalid_grant" }];
    count++;
    return [200, { access_token: `a${count}`, refresh_token: `r${count}`, expires_in: 3600 }];
  };
}

async function withTokens(
  fields: Partial<Login>,
  test: (made: { logins: Logins; server: URL; folder: string; renewals: () => number }) => Promise<void>,
  say?: Say,
): Promise<void> {
  using folder = makeFolder();
  await using server = await startTestServer(say ?? ((got, response) => rotate(got, response)));
  const rotate = rotating(() => server.url.origin);
  const logins = new Logins(folder.path);
  logins.save(login(server.url, fields));
  const renewals = () => server.got.filter(({ path }) => path === "/token").length;
  await test({ logins, server: server.url, folder: folder.path, renewals });
}

const open = (server: URL, logins: Logins) => createStoredTokens({ server, connect: openConnector(), logins });

Deno.test("a login is used as it is while it lasts, and renewed and kept shortly before it ends", async () => {
  await withTokens({ expiresAt: Date.now() + 60_000 }, async ({ server, logins, renewals }) => {
    assert.equal(await open(server, logins).current(), "a0");
    assert.equal(renewals(), 0);
  });
  await withTokens({ expiresAt: null }, async ({ server, logins }) => {
    assert.equal(await open(server, logins).current(), "a0");
  });
  await withTokens({}, async ({ server, logins, renewals }) => {
    const tokens = open(server, logins);
    assert.equal(await tokens.current(), "a1");
    assert.equal(await tokens.current(), "a1");
    assert.equal(renewals(), 1);
    const kept = logins.load(server);
    assert.equal(kept?.refreshToken, "r1");
    assert(Math.abs((kept?.expiresAt ?? 0) - Date.now() - 3_600_000) < 10_000);
    assert.equal(kept?.loggedInAt, 1);
  });
});

Deno.test("a login that the server no longer takes is renewed whatever its time, unless another program was first", async () => {
  await withTokens({ expiresAt: null }, async ({ server, logins, renewals }) => {
    const tokens = open(server, logins);
    assert.equal(await tokens.renew("a0"), "a1");
    assert.equal(await tokens.renew("a0"), "a1");
    assert.equal(renewals(), 1);
    assert.equal(await tokens.renew("a1"), "a2");
  });
});

Deno.test("a refresh token that is not taken ends the login in one line, and so does having none", async () => {
  for (const refreshToken of ["revoked", null]) {
    await withTokens({ refreshToken, expiresAt: 0 }, async ({ server, logins }) => {
      await assert.rejects(open(server, logins).current(), {
        name: "LoginNeeded",
        message: `the login at ${server.origin} has ended: log in again with portway --login --server ${server.origin}`,
      });
      assert.equal(logins.load(server)?.accessToken, "a0");
    });
  }
  using folder = makeFolder();
  await assert.rejects(open(new URL("http://a.example"), new Logins(folder.path)).current(), {
    name: "LoginNeeded",
    message: "this needs a login at http://a.example: portway --login --server http://a.example",
  });
});

Deno.test("a server that fails while a login is renewed does not end the login", async () => {
  await withTokens({}, async ({ server, logins }) => {
    await assert.rejects(open(server, logins).current(), { name: "ApiUnreachable" });
    assert.equal(logins.load(server)?.refreshToken, "r0");
  }, () => [503, "restarting"]);
});

Deno.test("programs that find a login expired at the same moment renew it once", async () => {
  await withTokens({}, async ({ server, folder, logins, renewals }) => {
    const script = fileURLToPath(new URL("./_renew.ts", import.meta.url));
    const programs = Array.from(
      { length: 4 },
      () =>
        spawn(process.execPath, ["run", "-A", "--no-check", script, folder, server.origin], {
          stdio: ["pipe", "pipe", "inherit"],
        }),
    );
    await Promise.all(programs.map(({ stdout }) => once(stdout, "data")));
    const outputs = Promise.all(programs.map(({ stdout }) => text(stdout)));
    for (const { stdin } of programs) stdin.end();
    assert.deepEqual(await outputs, programs.map(() => "a1\n"));
    assert.equal(renewals(), 1);
    assert.equal(logins.load(server)?.refreshToken, "r1");
  });
});
