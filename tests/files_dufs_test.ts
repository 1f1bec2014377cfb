import { deepEqual, equal, match, ok } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { openFolder, type RunningClient, sendRaw, startLocal } from "./files_kit.ts";

// What people who come from dufs look for, one row of the table in docs/guides/share/files.md each: the row says what is to be
// expected here, and the check of that name tries it on the real program.

const DOC = fileURLToPath(new URL("../docs/guides/share/files.md", import.meta.url));
const CLI = fileURLToPath(new URL("../cli.ts", import.meta.url));

/** One share or site for each way of starting, all of the same fixture but for what a check writes. */
const STARTS: Record<string, (folder: string) => string[]> = {
  read: (folder) => ["-f", folder],
  write: (folder) => ["-fw", folder],
  hidden: (folder) => ["-f", folder, "--hidden"],
  closed: (folder) => ["-fw", folder, "-p", "word"],
  limited: (folder) => ["-fw", folder, "--max-upload", "10"],
  drop: (folder) => ["-fw", folder, "--drop"],
  cors: (folder) => ["-fw", folder, "--cors", "--header", "x-two: 2"],
  single: (folder) => ["-f", path.join(folder, "hello.txt")],
  site: (folder) => ["-w", path.join(folder, "site")],
  spa: (folder) => ["-w", path.join(folder, "site"), "--spa"],
};

/** What a check has: the fixture's folder, and the shares that it names. */
interface Stage {
  folder: string;
  /** Asks one of the shares. The path is what comes behind the slash. */
  ask(share: string, path: string, init?: RequestInit): Promise<Answer>;
  /** Sends a request line as it is. */
  raw(share: string, line: string): Promise<number>;
}

interface Answer {
  status: number;
  headers: Headers;
  text: string;
  bytes: Uint8Array<ArrayBuffer>;
}

const HELLO = "hello, world\n";
const LONG = "all work and no play\n".repeat(500);

function plant(folder: string): void {
  const write = (name: string, content: string) => {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), content);
  };
  write("hello.txt", HELLO);
  write("empty", "");
  write("long.txt", LONG);
  write("ü & 50%.txt", "odd");
  write("dir/a10.txt", "10");
  write("dir/a2.txt", "two");
  write("dir/deep/report.md", "# report");
  write(".hidden", "secret");
  write("site/index.html", "<p>home</p>");
  write("site/about.html", "<p>about</p>");
  write("site/404.html", "<p>own</p>");
  write("site/docs/index.html", "<p>docs</p>");
  write("../outside.txt", "outside");
  fs.symlinkSync("hello.txt", path.join(folder, "inside.txt"));
  fs.symlinkSync("../outside.txt", path.join(folder, "out.txt"));
}

const PAGE = { accept: "text/html" };
const BASIC = { authorization: `Basic ${btoa("any:word")}` };
const ALLPROP = '<propfind xmlns="DAV:"><allprop/></propfind>';
const LOCK = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';
const put = (body: string, headers: HeadersInit = {}): RequestInit => ({ method: "PUT", body, headers });

/** The status, and some of the fields. */
function look({ status, headers }: Answer, ...names: string[]): (number | string | null)[] {
  return [status, ...names.map((name) => headers.get(name))];
}

/** Runs the client with flags that end it at once. */
function runClient(...args: string[]) {
  return spawnSync(process.execPath, ["run", "-A", CLI, ...args], { encoding: "utf8" });
}

type Check = (stage: Stage) => Promise<void>;

const CHECKS: Record<string, Check> = {
  "GET of a file": async ({ ask }) => {
    const got = await ask("read", "hello.txt");
    deepEqual([got.status, got.text], [200, HELLO]);
  },
  "HEAD of a file": async ({ ask }) => {
    const got = await ask("read", "hello.txt", { method: "HEAD" });
    deepEqual([...look(got, "content-length"), got.text], [200, "13", ""]);
  },
  "An empty file": async ({ ask }) => deepEqual(look(await ask("read", "empty"), "content-length"), [200, "0"]),
  "Type and charset by name": async ({ ask }) =>
    deepEqual(look(await ask("read", "dir/deep/report.md"), "content-type"), [200, "text/markdown; charset=utf-8"]),
  "Type of a name without ending": async ({ ask }) =>
    deepEqual(look(await ask("read", "empty"), "content-type"), [200, "application/octet-stream"]),
  "Name told with a file": async ({ ask }) =>
    deepEqual(look(await ask("read", "hello.txt"), "content-disposition"), [200, null]),
  "Name of other letters": async ({ ask }) =>
    match(
      (await ask("read", encodeURIComponent("ü & 50%.txt"))).headers.get("content-disposition") ?? "",
      /filename\*=UTF-8''%C3%BC%20%26%2050%25\.txt$/,
    ),
  "Download instead of show": async ({ ask }) =>
    match((await ask("read", "hello.txt?download")).headers.get("content-disposition") ?? "", /^attachment/),
  "ETag and Last-Modified": async ({ ask }) => {
    const { headers } = await ask("read", "hello.txt");
    match(headers.get("etag") ?? "", /^"[\w-]+"$/);
    equal(Number.isNaN(Date.parse(headers.get("last-modified") ?? "")), false);
  },
  "If-None-Match": async ({ ask }) => {
    const etag = (await ask("read", "hello.txt")).headers.get("etag") ?? "";
    equal((await ask("read", "hello.txt", { headers: { "if-none-match": etag } })).status, 304);
  },
  "If-Modified-Since": async ({ ask }) => {
    const since = (await ask("read", "hello.txt")).headers.get("last-modified") ?? "";
    equal((await ask("read", "hello.txt", { headers: { "if-modified-since": since } })).status, 304);
  },
  "If-Match": async ({ ask }) =>
    equal((await ask("read", "hello.txt", { headers: { "if-match": '"other"' } })).status, 412),
  "If-Unmodified-Since": async ({ ask }) => {
    const headers = { "if-unmodified-since": new Date(0).toUTCString() };
    equal((await ask("read", "hello.txt", { headers })).status, 412);
  },
  "Range": async ({ ask }) => {
    const got = await ask("read", "hello.txt", { headers: { range: "bytes=0-4" } });
    deepEqual([...look(got, "content-range"), got.text], [206, "bytes 0-4/13", "hello"]);
  },
  "Range to the end": async ({ ask }) =>
    equal((await ask("read", "hello.txt", { headers: { range: "bytes=7-" } })).text, "world\n"),
  "Range from the end": async ({ ask }) =>
    equal((await ask("read", "hello.txt", { headers: { range: "bytes=-6" } })).text, "world\n"),
  "Range beyond the end": async ({ ask }) =>
    deepEqual(look(await ask("read", "hello.txt", { headers: { range: "bytes=99-" } }), "content-range"), [
      416,
      "bytes */13",
    ]),
  "Several ranges": async ({ ask }) => {
    const got = await ask("read", "hello.txt", { headers: { range: "bytes=0-1,3-4" } });
    // Close ranges are joined into one (RFC 9110, section 15.3.7.2).
    deepEqual([got.status, got.text], [206, HELLO.slice(0, 5)]);
  },
  "If-Range": async ({ ask }) => {
    const headers = { range: "bytes=0-4", "if-range": '"other"' };
    equal((await ask("read", "hello.txt", { headers })).status, 200);
  },
  "A file that is not there": async ({ ask }) => equal((await ask("read", "missing")).status, 404),
  "A file with a slash behind it": async ({ ask }) => equal((await ask("read", "hello.txt/")).status, 404),
  "A folder without its slash": async ({ ask }) =>
    deepEqual(look(await ask("read", "dir", { redirect: "manual" }), "location"), [307, "/dir/"]),
  "Compression by Accept-Encoding": async ({ ask, folder }) => {
    const url = await ask("read", "long.txt", { headers: { "accept-encoding": "gzip" } });
    // `fetch` has unpacked it; what stands is that the text is whole and the tag is not the plain one's.
    equal(url.text, fs.readFileSync(path.join(folder, "long.txt"), "utf8"));
    match(url.headers.get("etag") ?? "", /-gzip"$/);
  },
  "Listing for browsers": async ({ ask }) => {
    const got = await ask("read", "", { headers: PAGE });
    ok(got.headers.get("content-type")?.startsWith("text/html") && got.text.includes("hello.txt"));
  },
  "Listing without script": async ({ ask }) => match((await ask("read", "?noscript")).text, /<a href="hello\.txt">/),
  "Listing as JSON": async ({ ask }) => {
    const { entries } = JSON.parse((await ask("read", "dir/?json")).text);
    deepEqual(entries.map((entry: { name: string }) => entry.name), ["a10.txt", "a2.txt", "deep"]);
  },
  "Listing as names": async ({ ask }) => equal((await ask("read", "dir/?simple")).text, "a10.txt\na2.txt\ndeep/\n"),
  "Listing for curl": async ({ ask }) => equal((await ask("read", "dir/")).text, "a10.txt\na2.txt\ndeep/\n"),
  "Sorting by name": async ({ ask }) =>
    equal((await ask("read", "dir/?simple&sort=name")).text, "deep/\na2.txt\na10.txt\n"),
  "Sorting by size or time": async ({ ask }) => {
    equal((await ask("read", "dir/?simple&sort=size&order=desc")).text, "deep/\na2.txt\na10.txt\n");
    equal((await ask("read", "dir/?simple&sort=mtime")).status, 200);
  },
  "Search": async ({ ask }) => {
    const { matches } = JSON.parse((await ask("read", "?q=report")).text);
    deepEqual(matches.map((entry: { name: string }) => entry.name), ["dir/deep/report.md"]);
  },
  "Search as names": async ({ ask }) => equal((await ask("read", "?q=report&simple")).text, "dir/deep/report.md\n"),
  "A file as JSON": async ({ ask }) => equal(JSON.parse((await ask("read", "hello.txt?json")).text).size, 13),
  "Hash of a file": async ({ ask }) =>
    equal((await ask("read", "hello.txt?hash")).text.trim(), createHash("sha256").update(HELLO).digest("hex")),
  "Zip of a folder": async ({ ask }) => {
    const got = await ask("read", "dir/?zip");
    deepEqual(look(got, "content-type"), [200, "application/zip"]);
    equal(new TextDecoder("latin1").decode(got.bytes.subarray(0, 2)), "PK");
  },
  "HEAD of a zip": async ({ ask }) =>
    deepEqual(look(await ask("read", "dir/?zip", { method: "HEAD" }), "content-type"), [200, "application/zip"]),
  "Zip of a selection": async ({ ask }) => {
    const got = await ask("read", "dir/?zip&name=a2.txt");
    const text = new TextDecoder("latin1").decode(got.bytes);
    ok(text.includes("a2.txt") && !text.includes("a10.txt"));
  },
  "Tar of a folder": async ({ ask }) =>
    deepEqual(look(await ask("read", "dir/?tar"), "content-type"), [200, "application/x-tar"]),
  "A share of one file": async ({ ask }) => {
    equal((await ask("single", "?simple")).text, "hello.txt\n");
    equal((await ask("single", "long.txt")).status, 404);
  },
  "A link that stays inside": async ({ ask }) => equal((await ask("read", "inside.txt")).text, HELLO),
  "A link that leads outside": async ({ ask }) => {
    equal((await ask("read", "out.txt")).status, 404);
    ok(!(await ask("read", "?simple")).text.includes("out.txt"));
  },
  "Hidden names": async ({ ask }) => {
    equal((await ask("read", ".hidden")).status, 404);
    equal((await ask("hidden", ".hidden")).status, 200);
  },
  "Way out by dots": async ({ raw }) => {
    for (const target of ["/../outside.txt", "/%2e%2e/outside.txt", "/dir/..%2f..%2foutside.txt"]) {
      equal(await raw("read", `GET ${target} HTTP/1.1`), 400, target);
    }
  },
  "A malformed escape": async ({ raw }) => equal(await raw("read", "GET /%zz HTTP/1.1"), 400),
  "An unknown method": async ({ ask }) => {
    const got = await ask("read", "", { method: "BREW" });
    deepEqual([got.status, got.headers.get("allow")?.includes("GET")], [405, true]);
  },
  "OPTIONS": async ({ ask }) => {
    const { headers } = await ask("write", "", { method: "OPTIONS" });
    deepEqual([headers.get("dav"), headers.get("allow")?.includes("PROPFIND")], ["1, 2", true]);
  },
  "Cross-origin reading": async ({ ask }) => {
    deepEqual(look(await ask("read", "hello.txt"), "access-control-allow-origin"), [200, null]);
    deepEqual(look(await ask("cors", "hello.txt"), "access-control-allow-origin"), [200, "*"]);
  },
  "Cross-origin preflight": async ({ ask }) => {
    const headers = { origin: "https://app.example", "access-control-request-method": "PUT" };
    const got = await ask("cors", "hello.txt", { method: "OPTIONS", headers });
    deepEqual(look(got, "access-control-allow-methods"), [204, "PUT"]);
  },
  "Headers of one's own": async ({ ask }) => deepEqual(look(await ask("cors", ""), "x-two"), [200, "2"]),
  "Upload": async ({ ask, folder }) => {
    equal((await ask("write", "up/new.txt", put("new"))).status, 201);
    equal(fs.readFileSync(path.join(folder, "up/new.txt"), "utf8"), "new");
  },
  "Upload over a file": async ({ ask }) => {
    await ask("write", "up/over.txt", put("one"));
    equal((await ask("write", "up/over.txt", put("two"))).status, 200);
  },
  "Upload into folders that are missing": async ({ ask }) =>
    equal((await ask("write", "up/a/b/c.txt", put("c"))).status, 201),
  "Upload over a folder": async ({ ask }) => equal((await ask("write", "dir", put("x"))).status, 409),
  "Upload where nothing may be changed": async ({ ask }) => equal((await ask("read", "new.txt", put("x"))).status, 403),
  "Upload only if nothing is there": async ({ ask }) =>
    equal((await ask("write", "hello.txt", put("x", { "if-none-match": "*" }))).status, 412),
  "Upload only over what was seen": async ({ ask }) =>
    equal((await ask("write", "hello.txt", put("x", { "if-match": '"other"' }))).status, 412),
  "An upload that is cut off": async ({ ask, folder }) => {
    const got = await ask("write", "cut.txt", put("half", { "content-range": "bytes 0-3/8" }));
    deepEqual(look(got, "upload-offset"), [202, "4"]);
    equal(fs.existsSync(path.join(folder, "cut.txt")), false);
  },
  "An upload that goes on": async ({ ask }) => {
    await ask("write", "on.txt", put("half", { "content-range": "bytes 0-3/8" }));
    deepEqual(look(await ask("write", "on.txt?upload", { method: "HEAD" }), "upload-offset"), [204, "4"]);
    equal((await ask("write", "on.txt", put("rest", { "content-range": "bytes 4-7/8" }))).status, 201);
    equal((await ask("write", "on.txt")).text, "halfrest");
  },
  "Upload with its time": async ({ ask, folder }) => {
    await ask("write", "up/dated.txt", put("x", { "x-oc-mtime": "1500000000" }));
    equal(fs.statSync(path.join(folder, "up/dated.txt")).mtimeMs, 1_500_000_000_000);
  },
  "Upload by a form": async ({ ask }) => {
    const body = new FormData();
    body.append("file", new Blob(["form"]), "form.txt");
    equal((await ask("write", "", { method: "POST", body })).status, 201);
    equal((await ask("write", "form.txt")).text, "form");
  },
  "A limit for uploads": async ({ ask }) =>
    equal((await ask("limited", "large.txt", put("more than ten"))).status, 417),
  "Upload only": async ({ ask }) => {
    equal((await ask("drop", "dropped.txt", put("x"))).status, 201);
    equal((await ask("drop", "hello.txt")).status, 404);
  },
  "Upload of a hidden name": async ({ ask }) => {
    equal((await ask("write", ".new", put("x"))).status, 201);
    equal((await ask("write", "?simple")).text.includes(".new"), false);
  },
  "New folder": async ({ ask }) => equal((await ask("write", "made", { method: "MKCOL" })).status, 201),
  "New folder where one is": async ({ ask }) => equal((await ask("write", "dir", { method: "MKCOL" })).status, 405),
  "New folder in one that is missing": async ({ ask }) => {
    equal((await ask("write", "no/such/folder", { method: "MKCOL" })).status, 409);
    equal((await ask("write", "no/such/folder?mkdir", { method: "POST" })).status, 201);
  },
  "Deletion of a file": async ({ ask }) => {
    await ask("write", "gone.txt", put("x"));
    equal((await ask("write", "gone.txt", { method: "DELETE" })).status, 204);
    equal((await ask("write", "gone.txt", { method: "DELETE" })).status, 404);
  },
  "Deletion of a folder": async ({ ask, folder }) => {
    await ask("write", "gone/a/b.txt", put("x"));
    equal((await ask("write", "gone", { method: "DELETE" })).status, 204);
    equal(fs.existsSync(path.join(folder, "gone")), false);
  },
  "Move": async ({ ask }) => {
    await ask("write", "from.txt", put("moved"));
    equal((await ask("write", "from.txt", { method: "MOVE", headers: { destination: "/to.txt" } })).status, 201);
    equal((await ask("write", "to.txt")).text, "moved");
  },
  "Move over a file": async ({ ask }) => {
    await ask("write", "m1.txt", put("1"));
    await ask("write", "m2.txt", put("2"));
    const headers = { destination: "/m2.txt" };
    equal((await ask("write", "m1.txt", { method: "MOVE", headers: { ...headers, overwrite: "F" } })).status, 412);
    equal((await ask("write", "m1.txt", { method: "MOVE", headers })).status, 204);
  },
  "Move by a form's means": async ({ ask }) => {
    await ask("write", "post.txt", put("x"));
    equal((await ask("write", "post.txt?move=posted.txt", { method: "POST" })).status, 201);
  },
  "Copy of a file": async ({ ask }) => {
    const headers = { destination: "/copy.txt" };
    equal((await ask("write", "hello.txt", { method: "COPY", headers })).status, 201);
    equal((await ask("write", "copy.txt")).text, HELLO);
  },
  "Copy of a folder": async ({ ask }) => {
    equal((await ask("write", "dir", { method: "COPY", headers: { destination: "/dir2" } })).status, 201);
    equal((await ask("write", "dir2/deep/report.md")).text, "# report");
  },
  "Copy to another server": async ({ ask }) => {
    const headers = { destination: "http://example.com/x" };
    equal((await ask("write", "hello.txt", { method: "COPY", headers })).status, 502);
  },
  "PROPFIND of a file": async ({ ask }) => {
    const got = await ask("read", "hello.txt", { method: "PROPFIND", headers: { depth: "0" }, body: ALLPROP });
    equal(got.status, 207);
    match(got.text, /<D:getcontentlength>13</);
  },
  "PROPFIND of a folder": async ({ ask }) => {
    const got = await ask("read", "dir/", { method: "PROPFIND", headers: { depth: "1" } });
    deepEqual([...got.text.matchAll(/<D:href>([^<]*)/g)].length, 4);
  },
  "PROPFIND without end": async ({ ask }) =>
    equal((await ask("read", "", { method: "PROPFIND", headers: { depth: "infinity" } })).status, 403),
  "PROPPATCH": async ({ ask }) => {
    const body = '<propertyupdate xmlns="DAV:"><set><prop><x xmlns="urn:x">v</x></prop></set></propertyupdate>';
    const got = await ask("write", "hello.txt", { method: "PROPPATCH", body });
    deepEqual([got.status, got.text.includes("200 OK")], [207, true]);
  },
  "LOCK and UNLOCK": async ({ ask }) => {
    const locked = await ask("write", "locked.txt", { method: "LOCK", body: LOCK });
    equal(locked.status, 201);
    equal((await ask("write", "locked.txt", put("x"))).status, 423);
    const headers = { "lock-token": locked.headers.get("lock-token") ?? "" };
    equal((await ask("write", "locked.txt", { method: "UNLOCK", headers })).status, 204);
  },
  "Sign-in by Basic": async ({ ask }) => {
    const got = await ask("closed", "hello.txt");
    deepEqual([got.status, got.headers.get("www-authenticate")?.startsWith("Basic ")], [401, true]);
    equal((await ask("closed", "hello.txt", { headers: BASIC })).status, 200);
  },
  "Sign-in by a page": async ({ ask }) => match((await ask("closed", "", { headers: PAGE })).text, /type="password"/),
  "Wrong passphrases": async ({ ask }) => {
    const headers = { authorization: `Basic ${btoa("any:wrong")}` };
    let status = 401;
    for (let tries = 0; tries < 30 && status === 401; tries++) status = (await ask("closed", "", { headers })).status;
    equal(status, 429);
  },
  "Index page": async ({ ask }) => {
    equal((await ask("site", "")).text, "<p>home</p>");
    equal((await ask("site", "docs/")).text, "<p>docs</p>");
  },
  "Address without .html": async ({ ask }) => equal((await ask("site", "about")).text, "<p>about</p>"),
  "Page for what is missing": async ({ ask }) => {
    const got = await ask("site", "missing", { headers: PAGE });
    deepEqual([got.status, got.text], [404, "<p>own</p>"]);
  },
  "Single-page application": async ({ ask }) => {
    equal((await ask("spa", "some/route", { headers: PAGE })).text, "<p>home</p>");
    equal((await ask("spa", "api/data", { headers: { "sec-fetch-dest": "empty" } })).status, 404);
    equal((await ask("spa", "route")).status, 200);
    equal((await ask("spa", "missing.js", { headers: PAGE })).status, 404);
  },
  "Another site's request to change": async ({ ask }) => {
    equal((await ask("write", "x.txt", put("x", { origin: "https://evil.example" }))).status, 403);
  },
  "A stranger's host name": async ({ raw }) => equal(await raw("read", "GET / HTTP/1.1\r\nHost: evil.example"), 421),
  "Scripts in shared pages": async ({ ask }) =>
    match((await ask("read", "site/index.html")).headers.get("content-security-policy") ?? "", /^sandbox/),
  "A flag that is not there": () => {
    equal(runClient("-f", ".", "--path-prefix", "x").status, 2);
    return Promise.resolve();
  },
  "Completion for shells": () => {
    match(runClient("completion", "bash").stdout, /portway/);
    return Promise.resolve();
  },
};

/** The rows of the table, by their first cell. */
function readRows(): string[] {
  const text = fs.readFileSync(DOC, "utf8");
  const table = text.slice(text.indexOf("| Behaviour"));
  return table.slice(0, table.indexOf("\n\n")).split("\n").slice(2).map((line) => line.split("|")[1].trim());
}

Deno.test("the table of what dufs does has 80 rows and more, and each has its check", () => {
  deepEqual(readRows(), Object.keys(CHECKS));
  ok(Object.keys(CHECKS).length >= 80, String(Object.keys(CHECKS).length));
});

Deno.test("what the table beside dufs says of a share holds", async (test) => {
  using base = openFolder();
  const clients = new Map<string, RunningClient>();
  try {
    for (const name of Object.keys(STARTS)) {
      const folder = path.join(base.path, name, "shared");
      plant(folder);
      clients.set(name, await startLocal(...STARTS[name](folder)));
    }
    const get = (name: string) => {
      const client = clients.get(name);
      if (client === undefined) throw new TypeError(`there is no share "${name}"`);
      return client;
    };
    const stage: Stage = {
      folder: path.join(base.path, "write", "shared"),
      async ask(share, target, init) {
        const response = await fetch(get(share).url + target, init);
        const bytes = await response.bytes();
        const { status, headers } = response;
        return { status, headers, bytes, text: new TextDecoder().decode(bytes) };
      },
      async raw(share, line) {
        const host = line.includes("Host:") ? "" : "\r\nHost: localhost";
        return (await sendRaw(get(share).port, `${line}${host}\r\nConnection: close\r\n\r\n`)).status;
      },
    };
    for (const [name, check] of Object.entries(CHECKS)) await test.step(name, () => check(stage));
  } finally {
    for (const client of clients.values()) await client.kill();
  }
});
