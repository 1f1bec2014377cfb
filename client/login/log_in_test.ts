import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { openConnector } from "../../net/connection/mod.ts";
import { Logins } from "../api/mod.ts";
import { type Got, makeFolder, metadata, startTestServer } from "../api/_test_server.ts";
import type { DeviceCode } from "./device_flow.ts";
import { logIn, logInWithToken } from "./log_in.ts";
import { logOut } from "./log_out.ts";
import type { Whoami } from "./whoami.ts";

const WHOAMI = {
  user: { id: "u1", name: "Ada Lovelace", email: "ada@a.example", isAdmin: false },
  account: { id: "o1", name: "Acme", plan: "paid", role: "owner" },
  accounts: [{ id: "o1", name: "Acme", plan: "paid", role: "owner" }],
  scopes: ["tunnels:use"],
};

/** Simulates a server that issues tokens for code "c1" with its verifier, and at once for device codes. */
function respond(origin: string, { path, body, authorization }: Got, pages: URL[]): [number, unknown] {
  const form = new URLSearchParams(body);
  const tokens = (name: string) => ({ access_token: `a-${name}`, refresh_token: `r-${name}`, expires_in: 3600 });
  switch (path) {
    case "/.well-known/oauth-authorization-server":
      return [200, metadata(origin)];
    case "/device":
      return [200, { device_code: "d", user_code: "AB-CD", verification_uri: `${origin}/d`, interval: 0.01 }];
    case "/revoke":
      return form.get("token")?.startsWith("a") ? [400, { error: "invalid_request" }] : [200, {}];
    case "/api/v1/whoami":
      return /^Bearer (a-|personal)/.test(authorization ?? "") ? [200, WHOAMI] : [401, { error: {} }];
  }
  if (form.get("grant_type")?.endsWith("device_code")) return [200, tokens("device")];
  const challenge = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
  const page = pages.at(-1)?.searchParams;
  const fits = form.get("code") === "c1" && challenge === page?.get("code_challenge") &&
    form.get("redirect_uri") === page?.get("redirect_uri");
  return fits ? [200, tokens("code")] : [400, { error: "invalid_grant" }];
}

interface Kit {
  origin: string;
  logins: Logins;
  port: number;
  /** Tokens that reached the revocation endpoint. */
  revoked: () => string[];
  notes: string[];
  codes: DeviceCode[];
  /** Logs in; `visit` simulates the browser. */
  logIn(visit: (page: URL) => Promise<void>, isBrowserWanted?: boolean): Promise<Whoami>;
}

async function withKit(test: (kit: Kit) => Promise<void>): Promise<void> {
  using folder = makeFolder();
  const pages: URL[] = [], notes: string[] = [], codes: DeviceCode[] = [];
  await using server = await startTestServer((got) => respond(server.url.origin, got, pages));
  const logins = new Logins(folder.path), connect = openConnector(), port = await findPort();
  const env = { DISPLAY: ":0" };
  // A fake browser launcher under the platform's name, which does nothing.
  const bin = join(folder.path, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "xdg-open"), `#!/bin/sh\nprintf %s "$1" > ${bin}/opened\n`);
  chmodSync(join(bin, "xdg-open"), 0o755);
  const path = process.env.PATH;
  process.env.PATH = `${bin}:${path}`;
  try {
    await test({
      origin: server.url.origin,
      logins,
      port,
      notes,
      codes,
      revoked: () => server.got.filter((got) => got.path === "/revoke").map(({ body }) => body),
      logIn(visit, isBrowserWanted = true) {
        const visits: Promise<void>[] = [];
        const login = logIn({
          server: server.url,
          connect,
          logins,
          env,
          port,
          isBrowserWanted,
          signal: new AbortController().signal,
          onPage(page) {
            pages.push(new URL(page));
            visits.push(visit(new URL(page)));
          },
          onCode: (code) => void codes.push(code),
          note: (text) => void notes.push(text),
        });
        return login.finally(() => Promise.all(visits));
      },
    });
  } finally {
    process.env.PATH = path;
  }
}

async function findPort(): Promise<number> {
  const server = await listen(0);
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function listen(port: number): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return server;
}

/** Simulates the server's redirect to the client, and returns the page that the browser shows. */
async function comeBack(page: URL, fields: Record<string, string>): Promise<string> {
  const url = new URL(page.searchParams.get("redirect_uri") ?? "");
  for (const [name, value] of Object.entries(fields)) url.searchParams.set(name, value);
  url.searchParams.set("state", page.searchParams.get("state") ?? "");
  return await (await fetch(url, { headers: { connection: "close" } })).text();
}

const onWindows = process.platform === "win32";

Deno.test({
  name: "a login goes through the browser, is kept, and greets there and here",
  ignore: onWindows,
  fn: () =>
    withKit(async ({ origin, logins, port, logIn, revoked }) => {
      let shown = "";
      const whoami = await logIn(async (page) => {
        const query = Object.fromEntries(page.searchParams);
        assert.equal(page.href.split("?")[0], `${origin}/authorize`);
        assert.equal(query.redirect_uri, `http://localhost:${port}/`);
        assert.equal(query.client_id, "portway-cli");
        assert.equal(query.response_type, "code");
        assert.equal(query.code_challenge_method, "S256");
        assert.equal(query.scope, "openid offline_access tunnels:use views:read views:write");
        shown = await comeBack(page, { code: "c1" });
      });
      assert.equal(whoami.user.name, "Ada Lovelace");
      assert.match(shown, /<h1>Hello, Ada Lovelace<\/h1>.*<strong>Acme<\/strong>/);
      const login = logins.load(new URL(origin));
      assert.deepEqual([login?.accessToken, login?.refreshToken], ["a-code", "r-code"]);
      assert.deepEqual(revoked(), []);
    }),
});

Deno.test({
  name: "a login that is denied says so in the browser and here, and keeps nothing",
  ignore: onWindows,
  fn: () =>
    withKit(async ({ origin, logins, logIn }) => {
      let shown = "";
      const login = logIn(async (page) => {
        shown = await comeBack(page, { error: "access_denied" });
      });
      await assert.rejects(login, { name: "LoginFailed", message: "the login was denied in the browser" });
      assert.match(shown, /<h1>Not authorized<\/h1>/);
      assert.equal(logins.load(new URL(origin)), null);
    }),
});

Deno.test({
  name: "a login whose code the server does not take says so in the browser and here",
  ignore: onWindows,
  fn: () =>
    withKit(async ({ logIn }) => {
      let shown = "";
      const login = logIn(async (page) => {
        shown = await comeBack(page, { code: "of another login" });
      });
      await assert.rejects(login, { name: "LoginFailed", message: "the server refused: invalid_grant" });
      assert.match(shown, /The login did not work.*the server refused: invalid_grant/);
    }),
});

Deno.test({
  name: "a login takes a code where the port is taken, where no browser is wanted, and where none opens",
  ignore: onWindows,
  fn: () =>
    withKit(async ({ logins, origin, logIn, port, notes, codes }) => {
      const never = () => Promise.resolve();
      const taken = await listen(port);
      await logIn(never);
      await new Promise((resolve) => taken.close(resolve));
      assert.deepEqual(notes, [`Logging in with a code: port ${port} is already in use.`]);
      assert.equal(logins.load(new URL(origin))?.accessToken, "a-device");
      await logIn(never, false);
      assert.equal(notes.length, 1);
      const path = process.env.PATH ?? "";
      const broken = join(path.split(":")[0], "xdg-open");
      writeFileSync(broken, "#!/bin/sh\nexit 3\n");
      await logIn(never);
      process.env.PATH = "/nowhere";
      await logIn(never);
      process.env.PATH = path;
      assert.deepEqual(notes.slice(1), Array(2).fill("Logging in with a code: the browser could not be opened."));
      assert.deepEqual(codes.map(({ userCode }) => userCode), Array(4).fill("AB-CD"));
    }),
});

Deno.test({
  name: "a login opens the system's browser at the page it names",
  ignore: onWindows,
  fn: () =>
    withKit(async ({ logIn }) => {
      let named = "", opened = "";
      await logIn(async (page) => {
        named = page.href;
        const file = join((process.env.PATH ?? "").split(":")[0], "opened");
        while (opened === "") {
          await new Promise((resolve) => setTimeout(resolve, 10));
          opened = readIfThere(file);
        }
        await comeBack(page, { code: "c1" });
      });
      assert.equal(opened, named);
    }),
});

function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

Deno.test("a new login at a server ends the one before, and a logout the last one", () =>
  withKit(async ({ origin, logins, logIn, revoked }) => {
    const server = new URL(origin), connect = openConnector();
    logins.save({ server: origin, accessToken: "a0", refreshToken: "r0", expiresAt: 1, loggedInAt: 1 });
    await logIn(() => Promise.resolve(), false);
    assert.deepEqual(revoked(), [
      "client_id=portway-cli&token=a0&token_type_hint=access_token&replaced_by=a-device",
      "client_id=portway-cli&token=r0&token_type_hint=refresh_token&replaced_by=a-device",
    ]);
    assert.deepEqual(await logOut({ server, connect, logins }), { end: "revoked" });
    assert.equal(revoked().length, 4);
    assert.match(revoked()[3], /token=r-device/);
    assert.equal(logins.load(server), null);
    assert.deepEqual(await logOut({ server, connect, logins }), { end: "none" });
  }));

Deno.test("a token made on the server's site is checked and kept, and forgotten without being revoked", () =>
  withKit(async ({ origin, logins, revoked }) => {
    const server = new URL(origin), connect = openConnector(), made = { server, connect, logins };
    await assert.rejects(logInWithToken(made, "wrong"), {
      name: "LoginFailed",
      message: `the server ${origin} rejected this token`,
    });
    assert.equal(logins.load(server), null);
    assert.equal((await logInWithToken(made, "personal")).user.name, "Ada Lovelace");
    assert.equal(logins.load(server)?.accessToken, "personal");
    assert.deepEqual(await logOut(made), { end: "kept" });
    assert.deepEqual([logins.load(server), revoked()], [null, []]);
  }));

Deno.test("a logout forgets a login that is damaged, or whose server is gone, and says so", () =>
  withKit(async ({ logins }) => {
    const server = await startTestServer(() => null);
    await server[Symbol.asyncDispose]();
    logins.save({ server: server.url.origin, accessToken: "a", refreshToken: "r", expiresAt: 1, loggedInAt: 1 });
    const ended = await logOut({ server: server.url, connect: openConnector(), logins });
    assert.equal(ended.end, "not_told");
    assert(ended.end === "not_told" && /^cannot reach the server /.test(ended.reason));
    assert.equal(logins.load(server.url), null);
  }));
