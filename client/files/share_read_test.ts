import { deepEqual, equal, match, ok } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { listOpen } from "./_open_files.ts";
import { listNames, openTestShare } from "./_test_share.ts";

Deno.test("share sends a file with type, tag, length and a policy that lets it script nothing", async () => {
  await using share = openTestShare();
  share.write("a.html", "<p>hi");
  const response = await share.ask("/a.html");
  equal(response.status, 200);
  equal(await response.text(), "<p>hi");
  equal(response.headers.get("content-type"), "text/html; charset=utf-8");
  equal(response.headers.get("content-length"), "5");
  equal(response.headers.get("accept-ranges"), "bytes");
  equal(response.headers.get("x-content-type-options"), "nosniff");
  match(response.headers.get("content-security-policy") ?? "", /^sandbox; default-src 'none'/);
  match(response.headers.get("etag") ?? "", /^"[\w-]+"$/);
  ok(Date.parse(response.headers.get("last-modified") ?? "") > 0);
});

const TYPES: [name: string, content: string | Uint8Array, type: string][] = [
  ["a.txt", "ä", "text/plain; charset=utf-8"],
  ["old.txt", Uint8Array.of(0xe4, 0x20, 0x41), "text/plain; charset=windows-1252"],
  ["wide.txt", Uint8Array.of(0xff, 0xfe, 0x41, 0), "text/plain; charset=utf-16le"],
  ["a.ts", "1", "text/typescript; charset=utf-8"],
  ["a.json", "{}", "application/json; charset=utf-8"],
  ["a.svg", "<svg/>", "image/svg+xml; charset=utf-8"],
  ["a.png", "x", "image/png"],
  ["a.mp4", "x", "video/mp4"],
  ["a.wasm", "x", "application/wasm"],
  ["README", "x", "text/plain; charset=utf-8"],
  ["main.rs", "x", "application/rls-services+xml; charset=utf-8"],
  ["x.unknown", "x", "application/octet-stream"],
];

Deno.test("share tells the type and charset of a file", async () => {
  await using share = openTestShare();
  for (const [name, content, type] of TYPES) {
    share.write(name, content);
    if (name !== "main.rs") equal((await share.ask(`/${name}`)).headers.get("content-type"), type, name);
  }
});

const DIGITS = "0123456789";
const RANGES: [field: string, status: number, body: string, contentRange: string | null][] = [
  ["bytes=2-4", 206, "234", "bytes 2-4/10"],
  ["bytes=7-", 206, "789", "bytes 7-9/10"],
  ["bytes=-2", 206, "89", "bytes 8-9/10"],
  ["bytes=0-0", 206, "0", "bytes 0-0/10"],
  ["bytes=5-100", 206, "56789", "bytes 5-9/10"],
  ["bytes=0-1,4-5", 206, "012345", "bytes 0-5/10"],
  ["bytes=x", 200, DIGITS, null],
];

Deno.test("share returns ranges, joins near ones, and ignores malformed ones", async () => {
  await using share = openTestShare();
  share.write("d.bin", DIGITS);
  for (const [range, status, body, contentRange] of RANGES) {
    const response = await share.ask("/d.bin", { headers: { range } });
    deepEqual([response.status, await response.text(), response.headers.get("content-range")], [
      status,
      body,
      contentRange,
    ]);
  }
  const beyond = await share.ask("/d.bin", { headers: { range: "bytes=10-" } });
  deepEqual([beyond.status, beyond.headers.get("content-range")], [416, "bytes */10"]);
  equal(beyond.headers.get("portway-error"), "range_not_satisfiable");
});

Deno.test("share answers HEAD, 304, 412 and If-Range by the tag of the file", async () => {
  await using share = openTestShare();
  share.write("d.bin", DIGITS);
  const head = await share.ask("/d.bin", { method: "HEAD" });
  deepEqual([head.status, head.headers.get("content-length"), head.body], [200, "10", null]);
  const etag = head.headers.get("etag") ?? "";
  const same = await share.ask("/d.bin", { headers: { "if-none-match": etag } });
  deepEqual([same.status, await same.text(), same.headers.get("etag")], [304, "", etag]);
  const failed = await share.ask("/d.bin", { headers: { "if-match": '"x"' } });
  deepEqual([failed.status, await failed.text(), failed.headers.get("portway-error")], [
    412,
    "",
    "precondition_failed",
  ]);
  equal((await share.ask("/d.bin", { headers: { range: "bytes=0-1", "if-range": etag } })).status, 206);
  fs.writeFileSync(path.join(share.path, "d.bin"), "9876543210x");
  equal((await share.ask("/d.bin", { headers: { range: "bytes=0-1", "if-range": etag } })).status, 200);
  equal((await share.ask("/d.bin", { headers: { "if-none-match": etag } })).status, 200);
});

Deno.test("share streams a large file and a large range byte for byte", async () => {
  await using share = openTestShare();
  const bytes = crypto.getRandomValues(new Uint8Array(65_536));
  const large = Buffer.concat(Array.from({ length: 33 }, () => bytes));
  share.write("large.bin", large);
  const all = new Uint8Array(await (await share.ask("/large.bin")).arrayBuffer());
  ok(Buffer.from(all).equals(large));
  const part = await (await share.ask("/large.bin", { headers: { range: "bytes=100000-1900000" } })).arrayBuffer();
  ok(Buffer.from(part).equals(large.subarray(100_000, 1_900_001)));
});

Deno.test("share closes a file whose visitor leaves", { ignore: !fs.existsSync("/proc/self/fd") }, async () => {
  await using share = openTestShare();
  share.write("large.bin", new Uint8Array(5_000_000));
  for (let round = 0; round < 5; round++) {
    const reader = (await share.ask("/large.bin")).body?.getReader();
    await reader?.read();
    await reader?.cancel();
    const zip = (await share.ask("/?zip")).body?.getReader();
    await zip?.read();
    await zip?.read();
    await zip?.cancel();
  }
  // A read that was under way is waited for before its file is closed.
  for (let turn = 0; turn < 1000 && listOpen(share.path).length > 0; turn++) await yieldToEventLoop();
  deepEqual(listOpen(share.path), []);
});

Deno.test("share lists a folder as page, JSON or names, by what is asked for", async () => {
  await using share = openTestShare();
  share.write("b.txt", "bb");
  share.write("sub/c.txt", "");
  share.write("<script>.txt", "");
  deepEqual(await listNames(share), ["<script>.txt", "b.txt", "sub/"]);
  for (const accept of ["text/html", "application/json", "*/*"]) {
    // With its length an answer passes through a tunnel in one piece.
    const listing = await share.ask("/", { headers: { accept } });
    equal(listing.headers.get("content-length"), String((await listing.arrayBuffer()).byteLength), accept);
  }
  const json = await (await share.ask("/", { headers: { accept: "application/json" } })).json();
  deepEqual(json.share, { name: "shared", writable: false, protected: false, maxUpload: null });
  deepEqual(json.entries.map(({ name, kind, size }: Record<string, unknown>) => [name, kind, size]), [
    ["<script>.txt", "file", 0],
    ["b.txt", "file", 2],
    ["sub", "folder", 0],
  ]);
  const page = await share.ask("/", { headers: { accept: "text/html,*/*" } });
  const html = await page.text();
  equal(page.headers.get("content-type"), "text/html; charset=utf-8");
  ok(!html.includes("<script>.txt"));
  const policy = page.headers.get("content-security-policy") ?? "";
  const nonce = /script-src 'nonce-([^']+)'/.exec(policy)?.[1] ?? "";
  ok(nonce.length >= 20);
  equal(
    [...html.matchAll(/<script(?! type="application\/json")/g)].length,
    [...html.matchAll(/<script[^>]* nonce=/g)].length,
  );
  ok(!/unsafe|script-src 'self'/.test(policy));
});

Deno.test("share shows a change of a folder at once", async () => {
  await using share = openTestShare();
  share.write("a.txt", "");
  deepEqual(await listNames(share), ["a.txt"]);
  share.write("b.txt", "");
  deepEqual(await listNames(share), ["a.txt", "b.txt"]);
});

Deno.test("share sends who asks for a folder without a slash to the address with one", async () => {
  await using share = openTestShare();
  share.write("a b/c.txt", "c");
  const response = await share.ask("/a%20b?zip");
  deepEqual([response.status, response.headers.get("location")], [307, "/a%20b/?zip"]);
  for (const query of ["?26482", "?x=%E4", "?a=b%20c+d", "?a=1&&b"]) {
    equal((await share.ask(`/a%20b${query}`)).headers.get("location"), `/a%20b/${query}`);
  }
  equal((await share.ask("/a%20b/c.txt/")).status, 404);
});

Deno.test(
  "an archive names entries whose names no address can carry",
  { ignore: process.platform !== "linux" },
  async () => {
    await using share = openTestShare();
    share.write("sub/a.txt", "a");
    share.write("sub/back\\slash.txt", "b");
    // A shell makes the name, as Deno's own calls take UTF-8 only.
    execFileSync("sh", ["-c", 'touch "$(printf "%s/sub/latin-\\344" "$1")"', "sh", share.path]);
    for (const target of ["/?zip", "/?tar", "/?zip&name=sub"]) {
      const text = new TextDecoder().decode(await (await share.ask(target)).bytes());
      match(text, /"sub\/back\\\\slash\.txt": its name has a backslash or bytes that are not UTF-8/, target);
      match(text, /"sub\/latin-\ufffd": its name/, target);
    }
  },
);

Deno.test("share offers a file as download under its true name", async () => {
  await using share = openTestShare();
  share.write('naïve "1".txt', "x");
  const response = await share.ask(`/${encodeURIComponent('naïve "1".txt')}?download`);
  equal(
    response.headers.get("content-disposition"),
    `attachment; filename="na_ve _1_.txt"; filename*=UTF-8''na%C3%AFve%20%221%22.txt`,
  );
});

Deno.test("share searches names below a folder, without hidden ones and loops", async () => {
  await using share = openTestShare();
  share.write("x/Report 1.txt", "");
  share.write("x/y/old report 2.md", "");
  share.write(".git/report", "");
  fs.symlinkSync("..", path.join(share.path, "x", "loop"));
  const find = async (query: string) => {
    const { matches, isPartial } = await (await share.ask(`/?search=${encodeURIComponent(query)}`)).json();
    equal(isPartial, false);
    return matches.map(({ name }: { name: string }) => name);
  };
  deepEqual(await find("report"), ["x/Report 1.txt", "x/y/old report 2.md"]);
  deepEqual(await find("REPORT md"), ["x/y/old report 2.md"]);
  deepEqual(await find("nothing"), []);
});

Deno.test("share zips a folder or a selection, with relative names and without what leads outside", async () => {
  await using share = openTestShare();
  share.write("a.txt", "aaa");
  share.write("sub/deep/b.txt", "bbb");
  share.write("back\\slash.txt", "no");
  share.write(".hidden", "no");
  fs.mkdirSync(path.join(share.path, "empty"));
  fs.symlinkSync(share.outside, path.join(share.path, "out"));
  fs.symlinkSync("../outside/secret.txt", path.join(share.path, "secret.txt"));
  fs.symlinkSync("a.txt", path.join(share.path, "z-link.txt"));
  const names = async (target: string, init?: RequestInit) =>
    listZip(await (await share.ask(target, init)).arrayBuffer());
  const all = ["a.txt", "empty/", "portway-left-out.txt", "sub/", "sub/deep/", "sub/deep/b.txt", "z-link.txt"];
  deepEqual(await names("/?zip"), all);
  deepEqual(await names("/sub/?zip"), ["deep/", "deep/b.txt"]);
  const query = "name=a.txt&name=sub&name=..&name=out&name=secret.txt&name=.hidden&name=..%2Foutside&name=missing";
  const selected = ["a.txt", "portway-left-out.txt", "sub/", "sub/deep/", "sub/deep/b.txt"];
  deepEqual(await names(`/?zip&${query}`), selected);
  deepEqual(await names("/?zip", { method: "POST", body: query }), selected);
});

Deno.test("share zips a selected folder with the time of its last change", async () => {
  await using share = openTestShare();
  share.write("folder/a.txt", "a");
  fs.utimesSync(path.join(share.path, "folder"), 1, new Date(2020, 4, 6, 7, 8, 10).getTime() / 1000);
  const zip = await (await share.ask("/?zip&name=folder")).arrayBuffer();
  const [time, date] = new Uint16Array(zip.slice(10, 14));
  deepEqual([time >> 11, date >> 9, date >> 5 & 15, date & 31], [7, 2020 - 1980, 5, 6]);
});

Deno.test("share zips a large file that becomes shorter meanwhile, and all that comes behind it", async () => {
  await using share = openTestShare();
  share.write("a.bin", new Uint8Array(4 * 1024 * 1024));
  share.write("b.txt", "b");
  const pieces = (await share.ask("/?zip")).body?.getReader();
  const taken = [(await pieces?.read())?.value];
  fs.truncateSync(path.join(share.path, "a.bin"), 1024 * 1024);
  while (taken.at(-1) !== undefined) taken.push((await pieces?.read())?.value);
  const zip = await new Blob(taken.filter((piece) => piece !== undefined)).arrayBuffer();
  deepEqual(listZip(zip), ["a.bin", "b.txt", "portway-left-out.txt"]);
});

Deno.test("an archive tells what was asked for and is not in it, and nothing of what is not to be seen", async () => {
  await using share = openTestShare();
  share.write("a.txt", "a");
  share.write("taken/b.txt", "b");
  fs.symlinkSync("../outside/secret.txt", path.join(share.path, "secret.txt"));
  const whole = await (await share.ask("/?tar")).arrayBuffer();
  deepEqual(listTar(whole), ["a.txt", "taken/", "taken/b.txt"]);
  const some = await (await share.ask("/?tar&name=a.txt&name=missing&name=secret.txt")).arrayBuffer();
  deepEqual(listTar(some), ["a.txt", "portway-left-out.txt"]);
  const text = new TextDecoder().decode(some);
  match(text, /"missing": it is not there\n"secret.txt": it is not there\n/);
});

Deno.test("share tars names of any length and letters, large files and times, as tar reads them", async () => {
  await using share = openTestShare();
  const long = `${"n".repeat(200)}/${"ü".repeat(120)}.txt`;
  share.write(long, "long");
  share.write("empty", "");
  share.write("large.bin", new Uint8Array(1_300_001).fill(7));
  share.write("日本 50%.txt", "x");
  fs.utimesSync(path.join(share.path, "empty"), 1_500_000_000, 1_500_000_000);
  const response = await share.ask("/?tar");
  equal(response.headers.get("content-type"), "application/x-tar");
  match(response.headers.get("content-disposition") ?? "", /attachment; filename="shared.tar"/);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "portway-tar-"));
  try {
    fs.writeFileSync(path.join(folder, "x.tar"), new Uint8Array(await response.arrayBuffer()));
    execFileSync("tar", ["-xf", "x.tar"], { cwd: folder });
    equal(fs.readFileSync(path.join(folder, long), "utf8"), "long");
    equal(fs.readFileSync(path.join(folder, "日本 50%.txt"), "utf8"), "x");
    equal(
      fs.readFileSync(path.join(folder, "large.bin")).equals(fs.readFileSync(path.join(share.path, "large.bin"))),
      true,
    );
    equal(fs.statSync(path.join(folder, "empty")).mtimeMs, 1_500_000_000_000);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});

function listTar(bytes: ArrayBuffer): string[] {
  return execFileSync("tar", ["-tf", "-"], { input: new Uint8Array(bytes), encoding: "utf8" }).trim().split("\n")
    .sort();
}

Deno.test("share tells of a file as JSON and its hash, and sorts and searches as names", async () => {
  await using share = openTestShare();
  share.write("b2.txt", "hello");
  share.write("b10.txt", "");
  share.write("sub/a.txt", "abc");
  const facts = await (await share.ask("/b2.txt?json")).json();
  const { name, kind, size, type, etag } = facts;
  deepEqual([name, kind, size, type], ["b2.txt", "file", 5, "text/plain"]);
  equal(etag, (await share.ask("/b2.txt", { method: "HEAD" })).headers.get("etag"));
  equal(
    await (await share.ask("/b2.txt?hash")).text(),
    "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824\n",
  );
  deepEqual(await listNames(share, "/?simple&sort=name"), ["sub/", "b2.txt", "b10.txt"]);
  deepEqual(await listNames(share, "/?simple&sort=name&order=desc"), ["sub/", "b10.txt", "b2.txt"]);
  deepEqual(await listNames(share, "/?simple&sort=size&order=desc"), ["sub/", "b2.txt", "b10.txt"]);
  const sorted = await (await share.ask("/?json&sort=name")).json();
  deepEqual(sorted.entries.map((entry: { name: string }) => entry.name), ["sub", "b2.txt", "b10.txt"]);
  deepEqual(await listNames(share, "/?search=a&simple"), ["sub/a.txt"]);
  equal((await share.ask("/?simple&sort=colour")).status, 400);
});

Deno.test("share has a page of links without script for who runs none, with every name escaped", async () => {
  await using share = openTestShare();
  share.write("<b>&\"'.txt", "x");
  share.write("a:b #1?.txt", "x");
  share.write("sub/c.txt", "x");
  for (const [target, headers] of [["/?plain", {}], ["/", { "user-agent": "Wget/1.21", accept: "*/*" }]] as const) {
    const response = await share.ask(target, { headers });
    const html = await response.text();
    equal(response.headers.get("content-type"), "text/html; charset=utf-8");
    ok(!/<script|<b>/.test(html), html);
    const links = [...html.matchAll(/<td><a href="([^"]*)"/g)].map(([, href]) => href);
    deepEqual(links, ["%3Cb%3E%26%22&#39;.txt", "a%3Ab%20%231%3F.txt", "sub/"]);
  }
  match(await (await share.ask("/sub/?plain")).text(), /href="\.\.\/"/);
});

function listZip(bytes: ArrayBuffer): string[] {
  const file = fs.mkdtempSync(path.join(os.tmpdir(), "portway-zip-")) + "/x.zip";
  try {
    fs.writeFileSync(file, new Uint8Array(bytes));
    const program =
      "import sys,zipfile;z=zipfile.ZipFile(sys.argv[1]);assert z.testzip() is None;print(*z.namelist(),sep=chr(10))";
    return execFileSync("python3", ["-c", program, file], { encoding: "utf8" }).trim().split("\n").sort();
  } finally {
    fs.rmSync(path.dirname(file), { recursive: true });
  }
}

Deno.test("share hides dot files unless it is asked to show them", async () => {
  const write = (share: { write(name: string, content: string): void }) => {
    share.write(".env", "key");
    share.write(".git/config", "x");
    share.write("a.txt", "a");
  };
  await using share = openTestShare();
  write(share);
  deepEqual(await listNames(share), ["a.txt"]);
  for (const target of ["/.env", "/.git/config", "/.git/"]) equal((await share.ask(target)).status, 404);
  fs.symlinkSync(".env", path.join(share.path, "link"));
  equal((await share.ask("/link")).status, 404);
  await using open = openTestShare({ hidden: true });
  write(open);
  deepEqual(await listNames(open), [".env", ".git/", "a.txt"]);
  equal(await (await open.ask("/.env")).text(), "key");
});

Deno.test("share of a single file shows it though its name begins with a dot", async () => {
  await using folder = openTestShare();
  folder.write(".notes", "mine");
  folder.write(".other", "not shared");
  await using share = openTestShare({ path: path.join(folder.path, ".notes") });
  deepEqual(await listNames(share), [".notes"]);
  equal(await (await share.ask("/.notes")).text(), "mine");
  equal((await share.ask("/.other")).status, 404);
});

Deno.test("share of a single file shows that file and nothing beside it", async () => {
  await using folder = openTestShare();
  folder.write("one.txt", "1");
  folder.write("two.txt", "2");
  await using share = openTestShare({ path: path.join(folder.path, "one.txt") });
  deepEqual(await listNames(share), ["one.txt"]);
  equal(await (await share.ask("/one.txt")).text(), "1");
  equal((await share.ask("/two.txt")).status, 404);
  equal((await share.ask("/one.txt/x")).status, 404);
});

Deno.test("share answers other methods with what can be done, and 503 when it has ended", async () => {
  await using share = openTestShare();
  share.write("a.txt", "");
  for (const method of ["PUT", "DELETE", "MKCOL", "MOVE"]) {
    const response = await share.ask("/a.txt", { method });
    deepEqual([response.status, response.headers.get("portway-error")], [403, "read_only"]);
  }
  equal((await share.ask("/a.txt", { method: "POST" })).status, 403);
  equal((await share.ask("/a.txt", { method: "PATCH" })).status, 405);
  equal((await share.ask("/a.txt", { method: "OPTIONS" })).headers.get("allow"), "GET, HEAD, POST, OPTIONS, PROPFIND");
  await share.target.close();
  equal((await share.ask("/a.txt")).status, 503);
});

Deno.test("share lets others work while it goes through names that are not there", async () => {
  await using share = openTestShare();
  for (let index = 0; index < 4000; index++) fs.symlinkSync(`missing-${index}`, path.join(share.path, `link-${index}`));
  const body = Array.from({ length: 20_000 }, (_, index) => `name=missing-${index}`).join("&");
  const works: [name: string, ask: () => Promise<Response>][] = [
    ["zip of names", () => share.ask("/?zip", { method: "POST", body })],
    ["zip", () => share.ask("/?zip")],
    ["search", () => share.ask("/?search=x")],
    ["listing", () => share.ask("/")],
  ];
  for (const [name, ask] of works) {
    let turns = 0;
    let isDone = false;
    const done = ask().then((response) => response.arrayBuffer()).then(() => isDone = true);
    while (!isDone) {
      await yieldToEventLoop();
      turns++;
    }
    await done;
    ok(turns > 4, `${name}: ${turns} turns`);
  }
});

Deno.test("share lists for curl one name a line, whatever a name is made of", async () => {
  await using share = openTestShare();
  share.write("two\nlines", "");
  share.write("\x1b[31mred\x9b", "");
  deepEqual((await (await share.ask("/")).text()).split("\n"), ["?[31mred?", "two?lines", ""]);
  const { entries } = await (await share.ask("/?json")).json();
  deepEqual(entries.map(({ name }: { name: string }) => name), ["\x1b[31mred\x9b", "two\nlines"]);
});

Deno.test("share answers HEAD as GET, with the length of what GET would send and no range", async () => {
  await using share = openTestShare();
  share.write("d.bin", DIGITS);
  share.write("sub/a.txt", "");
  const targets = ["/", "/?json", "/d.bin", "/sub/", "/?search=a", "/missing", "/d.bin/", "/sub", "/%2e%2e"];
  for (const target of targets) {
    for (const accept of ["*/*", "text/html"]) {
      const [head, get] = await Promise.all(
        ["HEAD", "GET"].map((method) => share.ask(target, { method, headers: { accept } })),
      );
      const length = (await get.arrayBuffer()).byteLength;
      const told = head.headers.get("content-length");
      deepEqual([head.status, head.body, told ?? "0"], [get.status, null, String(length)], `${target} ${accept}`);
    }
  }
  const ranged = await share.ask("/d.bin", { method: "HEAD", headers: { range: "bytes=2-4" } });
  deepEqual([ranged.status, ranged.headers.get("content-length")], [200, "10"]);
  const zip = await share.ask("/?zip", { method: "HEAD" });
  deepEqual([zip.status, zip.headers.get("content-length"), await zip.text()], [200, null, ""]);
  // A body, if an empty one: a listener would take none for a length of 0.
  ok(zip.body !== null);
});
