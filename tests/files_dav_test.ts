import { deepEqual, equal, match, ok } from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import process from "node:process";
import { openFolder, startClient, startLocal, startTunnel } from "./files_kit.ts";

/** Whether a tool is there; says so when it is not, and the test that needs it has nothing to look at. */
function hasTool(name: string): boolean {
  const isThere = spawnSync("which", [name]).status === 0;
  if (!isThere) process.stdout.write(`left out: "${name}" is not installed (apt-get install ${name})\n`);
  return isThere;
}

/** Runs a tool to its end, for ten minutes at most, and returns what it printed. */
function runTool(command: string, args: string[], cwd: string): Promise<{ code: number | null; output: string }> {
  const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"], timeout: 600_000 });
  let output = "";
  child.stdout.on("data", (piece) => output += piece);
  child.stderr.on("data", (piece) => output += piece);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output }));
  });
}

/** What litmus and rclone cannot look up, the name of a tunnel on this machine, is put into requests on their way. */
async function openNamedWay(url: string): Promise<{ url: string } & AsyncDisposable> {
  const { host, hostname, port } = new URL(url);
  const server = http.createServer((request, response) => {
    const here = `http://${request.headers.host}`;
    const headers: http.OutgoingHttpHeaders = { ...request.headers, host };
    for (const name of ["destination", "if"]) {
      const field = headers[name];
      if (typeof field === "string") headers[name] = field.replaceAll(here, `http://${host}`);
    }
    const { method, url: target } = request;
    const onward = http.request({ host: "127.0.0.1", port, method, path: target, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError(`no way to ${hostname}`);
  return {
    url: `http://127.0.0.1:${address.port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const WAYS = [["on the local network", startLocal], ["behind a tunnel", startTunnel]] as const;

for (const [kind, start] of WAYS) {
  Deno.test(`a writable share ${kind} passes litmus: basic, copymove, props, locks and http`, async () => {
    if (!hasTool("litmus")) return;
    using folder = openFolder();
    using logs = openFolder();
    await using client = await start("-fw", folder.path);
    await using way = await openNamedWay(client.url);
    const { code, output } = await runTool("litmus", ["-k", way.url], logs.path);
    const sums = [...output.matchAll(/summary for `(\w+)': of \d+ tests run: \d+ passed, (\d+) failed/g)];
    deepEqual(
      sums.map(([, name, failed]) => `${name} ${failed}`),
      ["basic 0", "copymove 0", "props 0", "locks 0", "http 0"],
      output,
    );
    equal(code, 0);
    ok(!output.includes("WARNING"), output);
  });
}

/** Plants so many files in folders, names with spaces, signs and letters of many scripts among them. */
function plantTree(folder: string, count: number): void {
  const names = ["plain", "with space", "ümläut", "日本", "50% & more", "it's #1", "plus+", "semi;colon"];
  for (let index = 0; index < count; index++) {
    const below = path.join(folder, names[index % 8], `level ${index % 5}`);
    fs.mkdirSync(below, { recursive: true });
    fs.writeFileSync(path.join(below, `${names[(index >> 3) % 8]} ${index}.bin`), createBytes(index));
  }
}

function createBytes(index: number): Uint8Array {
  return createHash("sha512").update(String(index)).digest().subarray(0, index % 65);
}

/** Every file below a folder with a hash of its content. */
function hashTree(folder: string): string[] {
  return fs.readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .map((file) => `${path.relative(folder, file)} ${createHash("sha256").update(fs.readFileSync(file)).digest("hex")}`)
    .sort();
}

Deno.test("rclone copies a tree of 1,000 files to a share and back, and every byte is the same", async () => {
  if (!hasTool("rclone")) return;
  using shared = openFolder();
  using source = openFolder();
  using back = openFolder();
  plantTree(source.path, 1000);
  await using client = await startLocal("-fw", shared.path, "-p", "open sesame");
  const password = spawnSync("rclone", ["obscure", "open sesame"], { encoding: "utf8" }).stdout.trim();
  const remote = `:webdav,url='${client.url}',vendor=other,user=me,pass=${password}:`;
  const flags = ["--config", "/dev/null", "--transfers", "8", "--checkers", "8"];
  const up = await runTool("rclone", ["copy", ...flags, source.path, remote], source.path);
  equal(up.code, 0, up.output);
  const expected = hashTree(source.path);
  equal(expected.length, 1000);
  deepEqual(hashTree(shared.path), expected);
  const down = await runTool("rclone", ["copy", ...flags, remote, back.path], source.path);
  equal(down.code, 0, down.output);
  deepEqual(hashTree(back.path), expected);
});

Deno.test("the rclone command of the documentation copies a folder", async () => {
  if (!hasTool("rclone")) return;
  using shared = openFolder();
  using work = openFolder();
  plantTree(path.join(work.path, "photos"), 20);
  const text = fs.readFileSync(new URL("../docs/guides/share/files.md", import.meta.url), "utf8");
  const [command] = /^rclone copy .*$/m.exec(text) ?? [""];
  ok(command.includes("URL") && command.includes("PASSPHRASE"), command);
  await using client = await startLocal("-fw", shared.path, "-p", "open");
  const filled = command.replace("URL", client.url).replace("PASSPHRASE", "open");
  const { code, output } = await runTool("sh", ["-c", `RCLONE_CONFIG=/dev/null ${filled}`], work.path);
  equal(code, 0, output);
  deepEqual(hashTree(shared.path), hashTree(path.join(work.path, "photos")));
});

const ALLPROP = '<propfind xmlns="DAV:"><allprop/></propfind>';

function ask(url: string, method: string, headers: Record<string, string> = {}, body?: string): Promise<Response> {
  return fetch(url, { method, headers, body });
}

/** The status and the code of an answer of ours. */
async function judge(answer: Promise<Response>): Promise<[number, string | null]> {
  const response = await answer;
  await response.body?.cancel();
  return [response.status, response.headers.get("portway-error")];
}

Deno.test("a read-only share can be mounted, tells so, and changes nothing", async () => {
  using folder = openFolder();
  fs.writeFileSync(path.join(folder.path, "a b.txt"), "hello");
  fs.writeFileSync(path.join(folder.path, ".hidden"), "");
  await using client = await startLocal("-f", folder.path);
  const options = await ask(client.url, "OPTIONS");
  equal(options.headers.get("dav"), "1");
  match(options.headers.get("allow") ?? "", /PROPFIND/);
  const listed = await ask(client.url, "PROPFIND", { depth: "1" }, ALLPROP);
  const text = await listed.text();
  equal(listed.status, 207);
  deepEqual([...text.matchAll(/<D:response><D:href>([^<]*)/g)].map(([, href]) => href), ["/", "/a%20b.txt"]);
  match(text, /<D:getcontentlength>5<\/D:getcontentlength>/);
  const tag = (await fetch(`${client.url}a%20b.txt`, { method: "HEAD" })).headers.get("etag") ?? "";
  ok(text.includes(`<D:getetag>${tag.replaceAll('"', "&quot;")}</D:getetag>`), text);
  for (const method of ["PUT", "MKCOL", "COPY", "MOVE", "DELETE", "LOCK", "UNLOCK", "PROPPATCH"]) {
    const refused = ask(`${client.url}a%20b.txt`, method, { destination: "/c" });
    deepEqual(await judge(refused), [403, "read_only"], method);
  }
  deepEqual(fs.readdirSync(folder.path).sort(), [".hidden", "a b.txt"]);
});

Deno.test("WebDAV's methods ask for the passphrase as Basic and stay inside the share", async () => {
  using folder = openFolder();
  const shared = path.join(folder.path, "shared");
  fs.mkdirSync(path.join(shared, "sub"), { recursive: true });
  fs.writeFileSync(path.join(shared, "a.txt"), "a");
  fs.writeFileSync(path.join(folder.path, "secret.txt"), "secret");
  fs.symlinkSync("../secret.txt", path.join(shared, "out.txt"));
  fs.symlinkSync("..", path.join(shared, "up"));
  await using client = await startClient(["-fw", shared, "--local", "0", "--local-host", "127.0.0.1"], {
    PORTWAY_PASSPHRASE: "word",
  });
  const closed = await ask(client.url, "PROPFIND", { depth: "1" });
  match(closed.headers.get("www-authenticate") ?? "", /^Basic /);
  deepEqual([closed.status, (await closed.text()).includes("a.txt")], [401, false]);
  const authorization = `Basic ${btoa(":word")}`;
  const open = (target: string, method: string, headers: Record<string, string> = {}, body?: string) =>
    ask(client.url + target, method, { authorization, ...headers }, body);
  const listed = await (await open("", "PROPFIND", { depth: "1" })).text();
  ok(listed.includes("/a.txt") && !listed.includes("out.txt") && !listed.includes("/up"), listed);
  for (const target of ["out.txt", "up", "up/secret.txt"]) {
    equal((await judge(open(target, "PROPFIND", { depth: "0" })))[0], 404, target);
    equal((await judge(open(target, "COPY", { destination: "/stolen" })))[0], 404, target);
    ok((await judge(open("a.txt", "COPY", { destination: `/${target}` })))[0] >= 400, target);
  }
  for (const destination of ["/../x", "/%2e%2e/x", "/sub%2f..%2f..%2fx", "/.hidden", "/.portway-x", "x"]) {
    ok((await judge(open("a.txt", "COPY", { destination })))[0] >= 400, destination);
  }
  const elsewhere = open("a.txt", "COPY", { destination: "http://example.com/b.txt" });
  deepEqual(await judge(elsewhere), [502, "other_server"]);
  const names = fs.readdirSync(shared).filter((name) => !name.startsWith(".portway-uploads-"));
  deepEqual(names.sort(), ["a.txt", "out.txt", "sub", "up"]);
  equal(fs.readFileSync(path.join(folder.path, "secret.txt"), "utf8"), "secret");
});

Deno.test("a body of XML with entities, without end or too long is refused, and so is a depth without end", async () => {
  using folder = openFolder();
  await using client = await startLocal("-fw", folder.path);
  const bodies: [body: string, status: number][] = [
    ['<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><propfind xmlns="DAV:"><prop>&e;</prop></propfind>', 400],
    ['<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>&b;</x>', 400],
    ['<propfind xmlns="DAV:"><prop>', 400],
    ['<propfind xmlns="DAV:"><prop><x:y/></prop></propfind>', 400],
    ["nothing of the kind", 400],
    [`<propfind xmlns="DAV:">${"<a>".repeat(100)}${"</a>".repeat(100)}</propfind>`, 400],
    [`<propfind xmlns="DAV:"><prop>${"<a/>".repeat(100_000)}</prop></propfind>`, 413],
  ];
  for (const [body, status] of bodies) {
    equal((await judge(ask(client.url, "PROPFIND", { depth: "0" }, body)))[0], status, body.slice(0, 80));
  }
  const endless = await ask(client.url, "PROPFIND");
  equal(endless.status, 403);
  match(await endless.text(), /<D:error xmlns:D="DAV:"[^>]*><D:propfind-finite-depth\/>/);
  fs.writeFileSync(path.join(folder.path, "a.txt"), "a");
  equal((await judge(ask(`${client.url}a.txt`, "PROPFIND")))[0], 207);
  equal((await judge(ask(`${client.url}missing`, "PROPFIND")))[0], 404);
  equal((await judge(ask(`${client.url}a.txt/`, "PROPFIND")))[0], 404);
  for (const method of ["PROPFIND", "PROPPATCH", "MKCOL", "MOVE", "COPY", "LOCK", "UNLOCK"]) {
    const refused = await ask(
      `${client.url}missing/x`,
      method,
      { depth: "9" },
      method === "MKCOL" ? undefined : "<x/>",
    );
    equal(refused.headers.get("content-type"), "application/xml; charset=utf-8", method);
    match(await refused.text(), /^<\?xml[^>]*>\n<D:error xmlns:D="DAV:"/, method);
  }
});

const LOCK_BODY = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype>' +
  "<owner>me</owner></lockinfo>";

Deno.test("a lock keeps every way of changing a file from who does not hold it, and frees it when it ends", async () => {
  using folder = openFolder();
  await using client = await startLocal("-fw", folder.path, "--max-upload", "10");
  const file = `${client.url}a.txt`;
  const made = await ask(file, "LOCK", { timeout: "Second-3600" }, LOCK_BODY);
  const token = made.headers.get("lock-token") ?? "";
  equal(made.status, 201);
  match(await made.text(), /Second-3600/);
  const changes: [method: string, url: string, headers: Record<string, string>][] = [
    ["PUT", file, {}],
    ["DELETE", file, {}],
    ["MOVE", file, { destination: "/b.txt" }],
    ["POST", `${file}?move=b.txt`, {}],
    ["PROPPATCH", file, {}],
    ["LOCK", file, {}],
  ];
  const bodies: Record<string, string> = {
    PROPPATCH: '<propertyupdate xmlns="DAV:"><set><prop><x xmlns="urn:x">1</x></prop></set></propertyupdate>',
    LOCK: LOCK_BODY,
    PUT: "new",
  };
  for (const [method, url, headers] of changes) {
    deepEqual(await judge(ask(url, method, headers, bodies[method])), [423, "locked"], method);
  }
  const moved = await (await ask(file, "MOVE", { destination: "/b.txt" })).text();
  match(moved, /<D:lock-token-submitted><D:href>\/a\.txt<\/D:href><\/D:lock-token-submitted>/);
  match(await (await ask(file, "LOCK", {}, LOCK_BODY)).text(), /<D:no-conflicting-lock>/);
  equal((await judge(ask(file, "PUT", { if: `(${token})` }, "mine")))[0], 200);
  equal((await judge(ask(file, "PUT", { if: `(${token})` }, "more than ten bytes")))[0], 417);
  equal((await judge(ask(file, "PUT", { if: "(<urn:uuid:0>)" }, "x")))[0], 412);
  equal(fs.readFileSync(path.join(folder.path, "a.txt"), "utf8"), "mine");
  equal((await judge(ask(file, "UNLOCK", { "lock-token": token })))[0], 204);
  equal((await judge(ask(file, "PUT", {}, "free")))[0], 200);
});

Deno.test("MOVE and COPY replace a folder whole or not at all, and properties go along", async () => {
  using folder = openFolder();
  fs.mkdirSync(path.join(folder.path, "from/deep"), { recursive: true });
  fs.mkdirSync(path.join(folder.path, "to"));
  fs.writeFileSync(path.join(folder.path, "from/deep/a.txt"), "a");
  fs.writeFileSync(path.join(folder.path, "to/old.txt"), "old");
  await using client = await startLocal("-fw", folder.path);
  const patch = '<propertyupdate xmlns="DAV:"><set><prop><x xmlns="urn:x">kept</x></prop></set></propertyupdate>';
  equal((await judge(ask(`${client.url}from/deep/a.txt`, "PROPPATCH", {}, patch)))[0], 207);
  const refused = ask(`${client.url}from/`, "COPY", { destination: "/to/", overwrite: "F" });
  deepEqual(await judge(refused), [412, "already_exists"]);
  equal((await judge(ask(`${client.url}from/`, "COPY", { destination: "/from/deep/x/" })))[0], 409);
  equal((await judge(ask(`${client.url}from/`, "COPY", { destination: "/to/" })))[0], 204);
  deepEqual(hashTree(folder.path).map((line) => line.split(" ")[0]), ["from/deep/a.txt", "to/deep/a.txt"]);
  equal((await judge(ask(`${client.url}to/`, "MOVE", { destination: "/from/" })))[0], 204);
  const asked = '<propfind xmlns="DAV:"><prop><x xmlns="urn:x"/></prop></propfind>';
  match(await (await ask(`${client.url}from/deep/a.txt`, "PROPFIND", { depth: "0" }, asked)).text(), />kept</);
  deepEqual(fs.readdirSync(folder.path).filter((name) => !name.startsWith(".")), ["from"]);
});

Deno.test("a share keeps the time of a file that its sender tells, by PUT and by PROPPATCH", async () => {
  using folder = openFolder();
  await using client = await startLocal("-fw", folder.path);
  const modified = () => fs.statSync(path.join(folder.path, "a.txt")).mtimeMs / 1000;
  const put = await ask(`${client.url}a.txt`, "PUT", { "x-oc-mtime": "1500000000" }, "a");
  deepEqual([put.status, put.headers.get("x-oc-mtime"), modified()], [201, "accepted", 1_500_000_000]);
  await judge(ask(`${client.url}a.txt`, "PUT", { "last-modified": "Wed, 01 Jan 2020 00:00:00 GMT" }, "b"));
  equal(modified(), 1_577_836_800);
  const patch = '<propertyupdate xmlns="DAV:"><set><prop><Win32LastModifiedTime xmlns="urn:schemas-microsoft-com:">' +
    "Thu, 02 Jan 2020 00:00:00 GMT</Win32LastModifiedTime></prop></set></propertyupdate>";
  equal((await judge(ask(`${client.url}a.txt`, "PROPPATCH", {}, patch)))[0], 207);
  equal(modified(), 1_577_923_200);
});
