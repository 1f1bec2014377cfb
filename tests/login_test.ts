import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type Program, runAtTerminal, startServer, startSite, visit, within } from "./kit.ts";
import { AuthorizedUser } from "./authorized_user.ts";
import { type LoginServer, startLoginServer } from "./login_kit.ts";

const end = async (program: Program) => (await within("the end of the client", program.ended)).code;

const findLogin = ({ configDir }: LoginServer) => {
  const [name] = readdirSync(join(configDir, "logins"));
  return join(configDir, "logins", name);
};

Deno.test("a login without a browser works by code, is kept for its owner alone and renewed by itself", async () => {
  await using made = await startLoginServer();
  const user = await AuthorizedUser.signIn(made.server.url);
  await using login = made.start(["--login"], { DISPLAY: "" });
  assert.equal(
    (await login.events.waitFor("note")).text,
    "Logging in with a code: this machine has no browser to open.",
  );
  await user.enterCode(String((await login.events.waitFor("code")).userCode));
  await login.events.waitFor("login");
  assert.equal(await end(login), 0);
  const file = findLogin(made), kept = JSON.parse(readFileSync(file, "utf8"));
  assert.equal(statSync(file).mode & 0o777, 0o600);
  for (const line of [...login.output.lines, ...login.errors.lines]) assert(!line.includes(kept.accessToken), line);

  writeFileSync(file, JSON.stringify({ ...kept, expiresAt: Date.now() - 1000 }));
  const runs = [made.start(["--whoami"]), made.start(["--whoami"]), made.start(["--whoami"])];
  for (const run of runs) {
    await using program = run;
    assert.equal(await end(program), 0, program.errors.text);
  }
  const renewed = JSON.parse(readFileSync(file, "utf8"));
  assert.notEqual(renewed.accessToken, kept.accessToken);
  assert.notEqual(renewed.refreshToken, kept.refreshToken);

  writeFileSync(file, "{");
  await using damaged = made.start(["--whoami"]);
  await damaged.errors.waitFor(`portway: the login in ${file} is damaged: log in again with portway --login`);
  assert.equal(await end(damaged), 1);
});

Deno.test("a login whose port is taken goes on by code, and a callback of someone else changes nothing", async () => {
  await using made = await startLoginServer();
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(made.loginPort, "127.0.0.1", resolve));
  await using byCode = made.start(["--login", "--login-port", String(made.loginPort)]);
  const note = await byCode.events.waitFor("note");
  assert.equal(note.text, `Logging in with a code: port ${made.loginPort} is already in use.`);
  await byCode.events.waitFor("code");
  byCode.kill("SIGINT");
  assert.equal(await end(byCode), 1);
  assert.equal(byCode.errors.text, "");
  await new Promise((resolve) => taken.close(resolve));

  await using login = made.start(["--login", "--login-port", String(made.loginPort)]);
  const { url } = await login.events.waitFor("authorize");
  const callback = `http://localhost:${made.loginPort}/`;
  const state = new URL(String(url)).searchParams.get("state");
  const wrongState = await fetch(`${callback}?code=c&state=x`);
  assert.equal(wrongState.status, 400);
  await wrongState.body?.cancel();
  assert.equal(await statusOf(made.loginPort, `/?code=c&state=${state}`, "evil.example"), 403);
  const user = await AuthorizedUser.signIn(made.server.url);
  const back = await user.authorize(String(url), true);
  assert.equal(back.origin, new URL(callback).origin);
  const greeting = await fetch(back);
  assert.match(await greeting.text(), /<h1>Hello, /);
  await login.events.waitFor("login");
  assert.equal(await end(login), 0);
  await assert.rejects(fetch(back), "nobody listens any more");
});

Deno.test("a token is read from standard input, checked and kept; PORTWAY_TOKEN goes before it", async () => {
  await using made = await startLoginServer();
  const user = await AuthorizedUser.signIn(made.server.url);
  await using first = made.start(["--login", "--no-browser"]);
  await user.enterCode(String((await first.events.waitFor("code")).userCode));
  assert.equal(await end(first), 0);
  const { accessToken } = JSON.parse(readFileSync(findLogin(made), "utf8"));

  const wrong = await pipeIn(made, ["--login", "--token"], "wrong\n");
  assert.deepEqual([wrong.code, wrong.errors], [
    1,
    `portway: the server ${made.server.url} rejected this token\n`,
  ]);
  const empty = await pipeIn(made, ["--login", "--token"], "\n");
  assert.deepEqual([empty.code, empty.errors], [1, "portway: no token was given: paste it, or pipe it in\n"]);

  await using wrongVariable = made.start(["--whoami"], { PORTWAY_TOKEN: "wrong" });
  await wrongVariable.errors.waitFor(/rejected the token in PORTWAY_TOKEN: it is wrong or revoked/);
  assert.equal(await end(wrongVariable), 1);
  await using rightVariable = made.start(["--whoami"], { PORTWAY_TOKEN: accessToken });
  assert.equal(await end(rightVariable), 0, rightVariable.errors.text);
  const right = await pipeIn(made, ["--login", "--token"], `${accessToken}\r\n`);
  assert.equal(right.code, 0, right.errors);
  assert.equal(JSON.parse(readFileSync(findLogin(made), "utf8")).refreshToken, null);
});

Deno.test("another account is used by its name, its number, and not by what is none of the user's", async () => {
  await using made = await startLoginServer();
  const user = await AuthorizedUser.signIn(made.server.url);
  await user.createAccount("Second Home");
  await using login = made.start(["--login", "--no-browser"]);
  await user.enterCode(String((await login.events.waitFor("code")).userCode));
  await login.events.waitFor("login");
  await end(login);
  await using whoami = made.start(["--whoami"]);
  const { accounts, account } = await whoami.events.waitFor("whoami");
  const names = (accounts as { name: string }[]).map(({ name }) => name);
  assert.equal(names.length, 2);
  const other = names.findIndex((name) => name !== (account as { name: string }).name);
  for (const [given, name] of [[names[other], names[other]], [String(2 - other), names[1 - other]]]) {
    await using change = made.start(["--switch-account", given]);
    const changed = await change.events.waitFor("account");
    assert.equal((changed.account as { name: string }).name, name);
    assert.equal(await end(change), 0);
    await using after = made.start(["--whoami"]);
    assert.equal(((await after.events.waitFor("whoami")).account as { name: string }).name, name);
  }
  await using unknown = made.start(["--switch-account", "nobody's"]);
  await unknown.errors.waitFor(/^portway: no account matches "nobody's": 1 /);
  assert.equal(await end(unknown), 1);
  const { code, seen } = await runAtTerminal({
    args: ["--switch-account", "--server", made.server.url, "--config-dir", made.configDir],
    question: "Number or name",
    answers: ["9", String(other + 1)],
  });
  assert.equal(code, 0, seen);
  assert(seen.includes('no account matches "9"'), seen);
  assert.match(seen, /1 {2}.* \(paid, owner.*\)\r?\n {2}2 {2}.* \(paid, owner/);
  assert.match(seen, new RegExp(`Hello, \\S+! You use the account ${names[other]} at `));
  await using unnamed = made.start(["--switch-account"]);
  await unnamed.errors.waitFor(/^portway: --switch-account: name one, or its number, of 1 /);
  assert.equal(await end(unnamed), 2);
});

Deno.test("a persistent tunnel of a user who logged in comes back after the server has restarted, with a new token", async () => {
  await using made = await startLoginServer();
  const user = await AuthorizedUser.signIn(made.server.url);
  await using login = made.start(["--login", "--no-browser"]);
  await user.enterCode(String((await login.events.waitFor("code")).userCode));
  assert.equal(await end(login), 0);
  await using site = startSite();
  const tunnel = { name: "shop", defaultPort: site.port, allowedPorts: "all", enabled: true };
  const { url } = await user.ask("POST", "/api/v1/tunnels", tunnel);
  await using client = made.start(["-t", "shop"]);
  await client.events.waitFor("open");
  assert.equal(await (await visit(`${url}/text`)).text(), "hello");

  const file = findLogin(made), kept = JSON.parse(readFileSync(file, "utf8"));
  writeFileSync(file, JSON.stringify({ ...kept, expiresAt: Date.now() - 1000 }));
  const { port, dataDir } = made.server;
  made.server.kill("SIGTERM");
  await within("the end of the server", made.server.ended);
  await using _again = await startServer({ port, dataDir });
  await client.events.waitFor("reconnected");
  assert.equal(await (await visit(`${url}/text`)).text(), "hello");
  assert.notEqual(JSON.parse(readFileSync(file, "utf8")).accessToken, kept.accessToken);

  await using logout = made.start(["--logout"]);
  assert.equal((await logout.events.waitFor("logout")).end, "revoked");
  await using after = made.start(["-t", "shop"]);
  await after.errors.waitFor(/^portway: this needs a login at /);
  assert.equal(await end(after), 1);
});

/** The status of a request to this machine under another name. */
async function statusOf(port: number, path: string, host: string): Promise<number> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(
    new TextEncoder().encode(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`),
  );
  const answer = await new Response(connection.readable).text();
  return Number(answer.split(" ")[1]);
}

/** Runs the client with something piped in. */
async function pipeIn(
  { configDir, server }: LoginServer,
  args: readonly string[],
  input: string,
): Promise<{ code: number; errors: string }> {
  const all = ["run", "-q", "-A", "cli.ts", ...args, "--json", "--config-dir", configDir, "--server", server.url];
  const child = spawn(Deno.execPath(), all, { stdio: ["pipe", "ignore", "pipe"] });
  child.stdin.end(input);
  const ended = new Promise<number>((resolve) => child.on("close", (code) => resolve(code ?? -1)));
  const errors = await text(child.stderr);
  return { code: await within("the end of the client", ended), errors };
}
