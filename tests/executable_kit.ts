/** The black-box suite for one executable: every feature that a user meets first, on the system that the file is for. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ADMIN, openPage, postForm, signInByForm, startHq } from "./hq_kit.ts";
import {
  createNoise,
  type Executable,
  makeTempDir,
  openSocket,
  runProgram,
  type Server,
  startServer,
  startSite,
  startSocketService,
  startTunnel,
  visit,
  withExecutable,
} from "./kit/mod.ts";

/** The executable that a suite runs. */
export interface Tried {
  /** The file, behind the programs that start it. */
  readonly command: readonly string[];
  readonly version: string;
  readonly runtime: "deno" | "node";
  /** Windows has no signal that one program sends to another as Ctrl+C; default no. */
  readonly isWindows?: boolean;
}

/** Bytes that pass through a tunnel each way. */
const BULK = 3 * 1024 * 1024;

/** A check: its name, and what it does in a fresh folder. */
type Check = readonly [name: string, run: (folder: string, tried: Tried) => Promise<void>];

/** Runs all checks as steps of a test, then looks for files that the program left outside its folders. */
export async function tryAll(t: Deno.TestContext, tried: Tried): Promise<void> {
  await using home = await makeTempDir();
  const executable: Executable = { command: tried.command, env: createHome(home.path) };
  for (const [name, run] of CHECKS) {
    const ignore = tried.isWindows === true && run === tryInterrupt;
    if (ignore) Deno.stdout.writeSync(new TextEncoder().encode(`SKIPPED on Windows: ${name}\n`));
    await t.step({
      name,
      ignore,
      fn: async () => {
        await using folder = await makeTempDir();
        await withExecutable(executable, () => run(folder.path, tried));
      },
    });
  }
  await t.step("no file is outside the folders that are named", async () => {
    deepEqual(await readdir(home.path), []);
  });
}

/** Every folder of which a program may think that it can write there. */
function createHome(path: string): Record<string, string> {
  const names = ["HOME", "TMPDIR", "TMP", "TEMP", "XDG_CACHE_HOME", "XDG_DATA_HOME", "APPDATA", "LOCALAPPDATA"];
  return Object.fromEntries([...names, "USERPROFILE"].map((name) => [name, path]));
}

const makeNoise = (seed: number): Buffer => Buffer.concat([...createNoise(BULK, seed)]);

const run = (...args: string[]) => runProgram({ entry: "cli.ts", args });

const CHECKS: readonly Check[] = [
  ["--version prints the release, and nothing else", async (_, { version }) => {
    deepEqual(await run("--version"), { code: 0, output: version, errors: "" });
  }],
  ["--help, the manual page, completion and licences are inside", async (_, { runtime }) => {
    match((await run("--help")).output, /^Portway: [^]*Usage: portway -e PORT/);
    match((await run("man")).output, /^\.TH PORTWAY 1/);
    for (const shell of ["bash", "zsh", "fish"]) match((await run("completion", shell)).output, /portway/);
    const { output } = await run("--licenses");
    for (const name of ["The Portway authors", "postgres 3", "saxes 6", "qrcode 1", "jose 6"]) {
      ok(output.includes(name), name);
    }
    ok(output.includes(runtime === "node" ? "Node.js 26" : "the Deno authors"));
  }],
  ["exit codes are 2 for wrong usage and 1 for failures, with a line each", async () => {
    for (const [args, code] of [[["-e", "99999"], 2], [["--nonsense"], 2], [["-f", "/nowhere/at/all"], 1]] as const) {
      const { errors, ...ended } = await run(...args);
      deepEqual([ended.code, errors.split("\n").length], [code, 1], errors);
    }
    const { code, errors } = await run("-e", "3000", "--server", "http://127.0.0.1:9");
    equal(code, 1);
    match(errors, /^portway: cannot reach the server [^\n]*refused$/);
  }],
  ["variables of the runtime change nothing, and its real warnings are visible", tryVariables],
  ["-e carries 3 MB each way, and a WebSocket", tryExpose],
  ["-e without a server runs one, which keeps its data in the named folder", tryEmbedded],
  ["-f shows a page that loads all its files, with previews", tryFiles],
  ["-fw takes an upload", tryUpload],
  ["-w serves a site, and --spa its routes", trySite],
  ["server shows HQ to its admin, and a view captures a call", tryHq],
  ["a data folder of an older release is upgraded, and a copy of its database made", tryOldData],
  ["Ctrl+C lets a request in flight end", tryInterrupt],
];

async function tryVariables(_: string, { version, runtime }: Tried): Promise<void> {
  const env = {
    NODE_OPTIONS: "--require /nowhere.js --throw-deprecation",
    NODE_PATH: "/nowhere",
    DENO_FLAGS: "--nonsense",
    DENO_V8_FLAGS: "--nonsense",
  };
  const ended = await runProgram({ entry: "cli.ts", args: ["--version"], env });
  deepEqual(ended, { code: 0, output: version, errors: "" });
  if (runtime !== "node") return;
  // Any peer will do: the warning comes before the handshake.
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const closed = (async () => {
    for await (const connection of listener) connection.close();
  })();
  const server = `https://127.0.0.1:${listener.addr.port}`;
  const warned = await runProgram({
    entry: "cli.ts",
    args: ["-e", "3000", "--server", server],
    env: { NODE_TLS_REJECT_UNAUTHORIZED: "0" },
  });
  match(warned.errors, /Warning: Setting the NODE_TLS_REJECT_UNAUTHORIZED/);
  listener.close();
  await closed.catch(() => {});
}

async function tryExpose(): Promise<void> {
  await using site = startSite();
  await using sockets = await startSocketService();
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, target: site });
  const noise = makeNoise(7);
  const echoed = await (await visit(`${tunnel.url}/echo`, { body: noise })).bytes();
  ok(noise.equals(echoed), `${echoed.length} bytes came back`);
  await using other = await startTunnel({ server, target: sockets });
  await using socket = await openSocket(`${other.url}/ws`);
  socket.send("hello");
  equal(await socket.next(), "hello");
  const message = noise.subarray(0, 100_000);
  socket.send(message);
  ok(message.equals(await socket.next() as Uint8Array));
  // Ordinary work prints no warning from the runtime.
  ok(!/Warning/.test(server.errors.text + tunnel.errors.text), server.errors.text);
}

async function tryEmbedded(): Promise<void> {
  await using site = startSite();
  await using tunnel = await startTunnel({ target: site });
  equal(await (await visit(`${tunnel.url}/text`)).text(), "hello");
  ok((await readdir(tunnel.configDir)).length > 0);
}

async function tryFiles(folder: string): Promise<void> {
  await writeFile(join(folder, "notes.md"), "# Notes\n");
  await writeFile(join(folder, "code.ts"), "const a = 1;\n");
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, args: ["-f", folder] });
  equal(await (await visit(`${tunnel.url}/notes.md`)).text(), "# Notes\n");
  await loadAssets(tunnel.url, ["lib-markdown-it.js", "lib-highlight.js", "app.js"]);
  equal((await visit(`${tunnel.url}/new.txt`, { method: "PUT", body: "no" })).status >= 400, true);
}

async function tryUpload(folder: string): Promise<void> {
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, args: ["-fw", folder] });
  const noise = makeNoise(11);
  equal((await visit(`${tunnel.url}/new.bin`, { method: "PUT", body: noise })).status, 201);
  ok(noise.equals(await readFile(join(folder, "new.bin"))));
  // Unfinished uploads have a hidden folder until the share ends.
  deepEqual((await readdir(folder)).filter((name) => !name.startsWith(".")), ["new.bin"]);
}

async function trySite(folder: string): Promise<void> {
  await writeFile(join(folder, "index.html"), "<!doctype html><title>home</title>");
  await writeFile(join(folder, "style.css"), "a{}");
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, args: ["-w", folder, "--spa"] });
  const page = await visit(`${tunnel.url}/some/route`, { headers: { accept: "text/html" } });
  deepEqual([page.status, page.headers["content-type"]], [200, "text/html; charset=utf-8"]);
  match(await page.text(), /<title>home/);
  equal((await visit(`${tunnel.url}/style.css`)).headers["content-type"], "text/css; charset=utf-8");
}

async function tryHq(): Promise<void> {
  await using server = await startHq();
  await loadAssets(`${server.url}/sign-in`, ["hq.js", "layout.css"]);
  const cookie = await signInByForm(server), id = await addView(server, cookie);
  const captured = await visit(`${server.url}/req/${id}/orders`, { body: '{"order": 7}' });
  equal(captured.status, 200);
  const list = await openPage(`${server.url}/api/v1/views/${id}/captures`, { headers: { cookie, accept: "*/*" } });
  match(list.text, /"path":"[^"]*\/orders"|orders/);
  const page = await openPage(`${server.url}/views/${id}/capture`, { headers: { cookie } });
  equal(page.status, 200);
  await loadAssets(`${server.url}/views/${id}/capture`, [], { cookie });
  match((await openPage(`${server.url}/account`, { headers: { cookie } })).text, new RegExp(ADMIN.email));
}

async function addView(server: Server, cookie: string): Promise<string> {
  const made = await postForm(server, "/views", cookie, { name: "hooks" });
  const [, id] = /\/views\/([\w-]+)/.exec(made.header("location")) ?? [];
  ok(id !== undefined, `${made.status} ${made.text}`);
  return id;
}

/** The first release had one table, and a number in place of the names of steps. */
async function tryOldData(folder: string): Promise<void> {
  const file = join(folder, "portway.db"), future = Date.now() + 3_600_000;
  {
    using db = openDatabase(file);
    db.exec(`create table schema_version (version integer not null);
      insert into schema_version values (1);
      create table ephemeral_tunnels (id text primary key, label text not null unique, secret_hash text not null,
        created_at bigint not null, expires_at bigint not null, bytes_used bigint not null default 0,
        bytes_limit bigint not null);
      create index ephemeral_tunnels_expiry on ephemeral_tunnels (expires_at);
      insert into ephemeral_tunnels values ('old', 'oldtunnel', 'x', 1, ${future}, 5, 100)`);
  }
  await using server = await startServer({ dataDir: folder, env: { PORTWAY_SIGNUP: "open" } });
  equal((await visit(`${server.url}/sign-in`)).status, 200);
  const copy = join(folder, "copy.db");
  equal((await run("server", "backup", copy, "--data-dir", folder)).code, 0);
  using db = openDatabase(copy);
  deepEqual({ ...db.prepare("select label, bytes_used from ephemeral_tunnels where id = 'old'").get() }, {
    label: "oldtunnel",
    bytes_used: 5,
  });
  ok(db.prepare("select name from migrations").all().length >= 5);
}

function openDatabase(file: string): DatabaseSync & Disposable {
  const db = new DatabaseSync(file);
  return Object.assign(db, { [Symbol.dispose]: () => db.close() });
}

async function tryInterrupt(): Promise<void> {
  await using site = startSite();
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, target: site });
  const held = visit(`${tunnel.url}/hold`);
  await site.log.waitFor("open /hold");
  tunnel.kill("SIGINT");
  await tunnel.events.waitFor("note");
  site.release();
  equal(await (await held).text(), "released");
  equal((await tunnel.whenOver()).code, 0);
  server.kill("SIGTERM");
  equal((await server.ended).code, 0);
}

/**
 * Loads a page, all files that it names, and all modules that these import.
 * @param names further files, which the page loads only when they are needed
 */
export async function loadAssets(
  page: string,
  names: readonly string[],
  headers: Record<string, string> = {},
): Promise<void> {
  const response = await visit(page, { headers: { accept: "text/html", ...headers } });
  equal(response.status, 200, page);
  const html = await response.text();
  const linked = [...html.matchAll(/(?:src|href)="(\/[^"]+\.(?:css|js|svg))"/g)].map(([, path]) => path);
  ok(linked.length > 0, html);
  const waiting = [...linked, ...names.map((name) => new URL(name, new URL(linked[0], page)).pathname)];
  const seen = new Set<string>();
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    const here = new URL(path, page), asset = await visit(here.href), text = await asset.text();
    equal(asset.status, 200, path);
    ok(text.length > 0, path);
    for (const [, other] of text.matchAll(/^import [^"]*"(\.[^"]+)";/gm)) waiting.push(new URL(other, here).pathname);
  }
}
