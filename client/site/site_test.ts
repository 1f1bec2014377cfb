import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { createSite, type SiteOptions } from "./site.ts";

const FILES: Record<string, string> = {
  "index.html": "<html><body>home</body></html>",
  "about.html": "about",
  "blog/index.html": "blog",
  "app.js": "let a = 1;",
  "assets/main-4f9a1c2b.js": "hashed",
  ".well-known/security.txt": "contact",
  ".env": "key",
};

/** A site in a fresh folder, called without a socket. */
function openTestSite(files: Record<string, string>, options: Partial<SiteOptions> = {}) {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "portway-site-")));
  const write = (name: string, content: string | Uint8Array) => {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), content);
  };
  for (const [name, content] of Object.entries(files)) write(name, content);
  const site = createSite({ path: folder, ...options });
  return {
    folder,
    write,
    ask: (target: string, headers: Record<string, string> = {}, method = "GET") =>
      site.fetch(new Request("http://site.test/", { method, headers }), { path: target, remoteAddress: "192.0.2.1" }),
    async [Symbol.asyncDispose]() {
      await site.close();
      fs.rmSync(folder, { recursive: true });
    },
  };
}

Deno.test("site serves index files, addresses without .html and folders with a slash", async () => {
  await using site = openTestSite(FILES);
  const rows: [target: string, status: number, content: string | null][] = [
    ["/", 200, FILES["index.html"]],
    ["/index.html", 200, FILES["index.html"]],
    ["/about", 200, "about"],
    ["/about.html", 200, "about"],
    ["/blog/", 200, "blog"],
    ["/app.js", 200, "let a = 1;"],
    ["/.well-known/security.txt", 200, "contact"],
    ["/.env", 404, null],
    ["/missing", 404, null],
    ["/app.js/", 404, null],
    ["/assets/", 404, null],
    ["/../x", 400, null],
    ["/%2e%2e/x", 400, null],
  ];
  for (const [target, status, content] of rows) {
    const response = await site.ask(target);
    equal(response.status, status, target);
    const text = await response.text();
    if (content !== null) equal(text, content, target);
  }
  equal((await site.ask("/blog?x=1")).headers.get("location"), "/blog/?x=1");
  for (const query of ["?26482", "?x=%E4", "?a=b%20c+d", "?", "?a=1&&b"]) {
    equal((await site.ask(`/blog${query}`)).headers.get("location"), `/blog/${query}`);
    equal((await site.ask(`/about/${query}`)).headers.get("location"), `/about${query}`);
  }
  equal((await site.ask("/about/")).headers.get("location"), "/about");
  equal((await site.ask("/", {}, "POST")).status, 405);
  equal((await site.ask("/about")).headers.get("content-type"), "text/html; charset=utf-8");
});

Deno.test("site answers what is missing with its own 404.html", async () => {
  await using site = openTestSite({ ...FILES, "404.html": "own page" });
  for (const target of ["/missing", "/missing.js", "/a/b/c"]) {
    const response = await site.ask(target, { accept: "text/html" });
    deepEqual([response.status, await response.text()], [404, "own page"]);
  }
  for (const target of ["//", "//about", "/blog//", "/a//b?x=//"]) {
    const response = await site.ask(target, { accept: "text/html" });
    deepEqual([response.status, await response.text()], [404, "own page"], target);
  }
  equal((await site.ask("/about?next=//x")).status, 200);
  const head = await site.ask("/missing", {}, "HEAD");
  deepEqual([head.status, head.body], [404, null]);
});

Deno.test("site with --spa answers routes with the index file and missing assets with 404", async () => {
  await using site = openTestSite(FILES, { spa: "index.html" });
  const page = { accept: "text/html,application/xhtml+xml" };
  for (
    const [target, headers, status] of [
      ["/users/7", page, 200],
      ["/users/7", {}, 200],
      ["/users/7", { accept: "*/*" }, 200],
      ["/users/7", { accept: "*/*", "sec-fetch-dest": "document" }, 200],
      ["/api/data", { accept: "*/*", "sec-fetch-dest": "empty" }, 404],
      ["/avatar", { accept: "image/avif,*/*;q=0.8", "sec-fetch-dest": "image" }, 404],
      ["/api/data", { accept: "text/event-stream" }, 404],
      ["/users/9", { accept: "*/*", "x-portway-live": "1" }, 200],
      ["/api/data", { accept: "application/json" }, 404],
      ["/users/jane.doe", page, 200],
      ["/missing.js", { accept: "*/*" }, 404],
      ["/missing.png", page, 404],
      ["/assets/missing.css", page, 404],
      ["/about", page, 200],
    ] as const
  ) {
    const response = await site.ask(target, headers);
    equal(response.status, status, target);
    if (target.startsWith("/users") && status === 200) equal(await response.text(), FILES["index.html"]);
  }
  await using named = openTestSite({ "app.html": "app" }, { spa: "app.html" });
  equal(await (await named.ask("/route", page)).text(), "app");
  equal(await (await named.ask("/")).text(), "app");
  throws(() => openTestSite(FILES, { spa: "missing.html" }), /it has no "missing.html"/);
});

Deno.test("site with a passphrase shows nothing before it is given, and keeps what it sends out of shared caches", async () => {
  await using site = openTestSite({ ...FILES, "404.html": "own" }, { passphrase: "word" });
  const page = { accept: "text/html" };
  for (const target of ["/", "/about", "/missing", "/assets/main-4f9a1c2b.js", "/.portway/x/login.js"]) {
    const response = await site.ask(target, page);
    const text = await response.text();
    ok(response.status === 401 || target.startsWith("/.portway"), target);
    ok(!Object.values(FILES).includes(text) && text !== "own", text);
  }
  equal((await site.ask("/", {})).headers.get("www-authenticate")?.startsWith("Basic"), true);
  const authorization = `Basic ${btoa(":word")}`;
  equal(await (await site.ask("/", { authorization })).text(), FILES["index.html"]);
  equal(await (await site.ask("/missing", { authorization, ...page })).text(), "own");
  const hashed = await site.ask("/assets/main-4f9a1c2b.js", { authorization });
  equal(hashed.headers.get("cache-control"), "private, max-age=31536000, immutable");
});

Deno.test("site codes text on the way, and leaves alone what is packed or short", async () => {
  const long = "let a = 1;\n".repeat(1000);
  await using site = openTestSite({ ...FILES, "long.js": long, "pic.png": long });
  const accepts = { "accept-encoding": "gzip" };
  const coded = await site.ask("/long.js", accepts);
  deepEqual([coded.headers.get("content-encoding"), coded.headers.get("vary")], ["gzip", "accept-encoding"]);
  ok((await coded.arrayBuffer()).byteLength < 500);
  for (const target of ["/pic.png", "/app.js"]) {
    equal((await site.ask(target, accepts)).headers.get("content-encoding"), null, target);
  }
});

Deno.test("site sends precompressed files to who takes them, unless they are older", async () => {
  await using site = openTestSite(FILES);
  const packed = gzipSync("let a = 1;");
  site.write("app.js.gz", packed);
  site.write("app.js.br", "brotli");
  const ask = async (coding: string) => {
    const { headers, status } = await site.ask("/app.js", { "accept-encoding": coding });
    equal(headers.get("vary"), "accept-encoding");
    match(headers.get("content-type") ?? "", /^text\/javascript/);
    return [status, headers.get("content-encoding")];
  };
  deepEqual(await ask("gzip, deflate, br"), [200, "br"]);
  deepEqual(await ask("gzip"), [200, "gzip"]);
  deepEqual(await ask("br;q=0, *"), [200, "gzip"]);
  deepEqual(await ask("identity"), [200, null]);
  equal((await (await site.ask("/app.js", { "accept-encoding": "gzip" })).arrayBuffer()).byteLength, packed.length);
  fs.utimesSync(path.join(site.folder, "app.js.br"), 1, 1);
  deepEqual(await ask("br, gzip"), [200, "gzip"]);
  equal((await site.ask("/about")).headers.get("vary"), null);
});

Deno.test("site tells the charset of a text, whatever coding it is sent in", async () => {
  await using site = openTestSite({ "index.html": "<p>größer</p>" });
  site.write("index.html.gz", gzipSync("<p>größer</p>"));
  const german = "<p>Die gr\xf6\xdften B\xe4ume stehen f\xfcr viele sch\xf6ne Jahre \xfcber den H\xe4usern.</p>\n"
    .repeat(20);
  const old = Uint8Array.from(german, (char) => char.charCodeAt(0));
  site.write("old.html", old);
  site.write("old.html.gz", gzipSync(old));
  for (const [target, charset] of [["/", "utf-8"], ["/old", "windows-1252"]]) {
    for (const coding of ["gzip", "identity"]) {
      const { headers } = await site.ask(target, { "accept-encoding": coding });
      equal(headers.get("content-encoding"), coding === "gzip" ? "gzip" : null);
      equal(headers.get("content-type"), `text/html; charset=${charset}`, `${target} ${coding}`);
    }
  }
});

Deno.test("site answers ranges and conditions, and keeps files with a hash in their name", async () => {
  await using site = openTestSite(FILES);
  const range = await site.ask("/app.js", { range: "bytes=0-2" });
  deepEqual([range.status, await range.text()], [206, "let"]);
  const etag = (await site.ask("/")).headers.get("etag") ?? "";
  equal((await site.ask("/", { "if-none-match": etag })).status, 304);
  equal(
    (await site.ask("/assets/main-4f9a1c2b.js")).headers.get("cache-control"),
    "public, max-age=31536000, immutable",
  );
  equal((await site.ask("/app.js")).headers.get("cache-control"), "no-cache");
});

Deno.test("site follows no link that leads out of its folder", async () => {
  await using site = openTestSite(FILES);
  fs.symlinkSync("/etc", path.join(site.folder, "etc"));
  fs.symlinkSync("/etc/hostname", path.join(site.folder, "host.html"));
  for (const target of ["/etc/", "/etc/hostname", "/host", "/host.html"]) equal((await site.ask(target)).status, 404);
});

Deno.test("site with --live tells open pages of a change and leaves the files as they are", async () => {
  await using site = openTestSite(FILES, { live: true });
  const page = await (await site.ask("/")).text();
  match(page, /^<html><body>home<script src="\/\.portway\/live\.js\?told=\d+" async><\/script><\/body><\/html>$/);
  equal(fs.readFileSync(path.join(site.folder, "index.html"), "utf8"), FILES["index.html"]);
  match(await (await site.ask("/.portway/live.js")).text(), /new EventSource\("\/\.portway\/live" \+/);
  const events = (await site.ask("/.portway/live")).body?.pipeThrough(new TextDecoderStream()).getReader();
  ok(events !== undefined);
  equal((await events.read()).value, "retry: 500\n\n");
  site.write("style.css", "a {}");
  equal((await events.read()).value, "event: change\ndata: style.css\n\n");
  await events.cancel();
});

Deno.test("site with --live tells a page at once of a change that came while it was loaded", async () => {
  await using site = openTestSite(FILES, { live: true });
  const told = async () => /\?told=\d+/.exec(await (await site.ask("/")).text())?.[0];
  const listen = async (query = "") =>
    (await site.ask(`/.portway/live${query}`)).body?.pipeThrough(new TextDecoderStream()).getReader();
  const loadedBefore = await told();
  const other = await listen();
  equal((await other?.read())?.value, "retry: 500\n\n");
  site.write("index.html", "changed");
  match((await other?.read())?.value ?? "", /^event: change/);
  const late = await listen(loadedBefore);
  equal((await late?.read())?.value, "retry: 500\n\nevent: change\ndata: \n\n");
  const inTime = await listen(await told());
  equal((await inTime?.read())?.value, "retry: 500\n\n");
  for (const reader of [other, late, inTime]) await reader?.cancel();
});

Deno.test("site with --live tells of changes while they do not end", async () => {
  await using site = openTestSite(FILES, { live: true });
  const events = (await site.ask("/.portway/live")).body?.pipeThrough(new TextDecoderStream()).getReader();
  equal((await events?.read())?.value, "retry: 500\n\n");
  let count = 0;
  const writing = setInterval(() => site.write("log.txt", `${count++}`), 20);
  try {
    equal((await events?.read())?.value, "event: change\ndata: log.txt\n\n");
  } finally {
    clearInterval(writing);
    await events?.cancel();
  }
});

Deno.test("site with --live goes on when its folder is deleted or moved away and made again", async () => {
  await using site = openTestSite(FILES, { live: true });
  const events = (await site.ask("/.portway/live")).body?.pipeThrough(new TextDecoderStream()).getReader();
  ok(events !== undefined);
  equal((await events.read()).value, "retry: 500\n\n");
  const waysOff = [
    () => fs.rmSync(site.folder, { recursive: true }),
    () => fs.renameSync(site.folder, `${site.folder}-old`),
    async () => {
      fs.rmSync(site.folder, { recursive: true });
      match((await events.read()).value ?? "", /^event: change/);
    },
  ];
  try {
    for (const goOff of waysOff) {
      await goOff();
      fs.mkdirSync(site.folder);
      site.write("index.html", "made again");
      // What went away is told by name; that there is another folder, without one.
      while ((await events.read()).value !== "event: change\ndata: \n\n");
      match(await (await site.ask("/")).text(), /^made again/);
      site.write("new.css", "a {}");
      while ((await events.read()).value !== "event: change\ndata: new.css\n\n");
    }
  } finally {
    fs.rmSync(`${site.folder}-old`, { recursive: true, force: true });
    await events.cancel();
  }
});

Deno.test("site keeps for a year what a bundler named by its content, and nothing that a person named", async () => {
  const bundled = ["main.4f9a1c2b.js", "index-Bx3kQ9_z.css", "chunk-4XK2WGQ7.js", "logo.d41d8cd98f00b204e980.svg"];
  const named = [
    "report-december2024.pdf",
    "photo-Summer24.jpg",
    "my-component2.js",
    "jquery-3.7.1.min.js",
    "backup-20240131.zip",
    "notes-REPORT24.txt",
    "facade-decade2024.html",
    "app-settings.js",
  ];
  await using site = openTestSite(Object.fromEntries([...bundled, ...named].map((name) => [name, "x"])));
  for (const name of [...bundled, ...named]) {
    const caching = (await site.ask(`/${name}`)).headers.get("cache-control");
    equal(caching, bundled.includes(name) ? "public, max-age=31536000, immutable" : "no-cache", name);
  }
});

Deno.test("site applies _headers and _redirects, reads them again after a change, and shows them to nobody", async () => {
  await using site = openTestSite({
    ...FILES,
    "_headers": "# comment\n/*\n  X-Frame-Options: DENY\n/blog/*\n  cache-control: public, max-age=60\n",
    "_redirects": [
      "/old/* /blog/:splat 301",
      "/user/:id/edit /about?id=:id 302",
      "/about /blog/ 301",
      "/app.js /about 302!",
      "/api/* /about 200",
      "/away https://example.com/x 307",
      "/open/* /:splat 301!",
    ].join("\n"),
  });
  const ask = async (target: string) => {
    const response = await site.ask(target);
    return [response.status, response.headers.get("location") ?? await response.text()];
  };
  deepEqual(await ask("/old/2020/a%20b?x=%E4"), [301, "/blog/2020/a%20b?x=%E4"]);
  deepEqual(await ask("/old"), [301, "/blog/"]);
  deepEqual(await ask("/user/7/edit"), [302, "/about?id=7"]);
  deepEqual(await ask("/about"), [200, "about"]);
  deepEqual(await ask("/app.js"), [302, "/about"]);
  deepEqual(await ask("/api/deep/data"), [200, "about"]);
  deepEqual(await ask("/away"), [307, "https://example.com/x"]);
  deepEqual(await ask("/open//evil.example"), [301, "/evil.example"]);
  for (const name of ["/_headers", "/_redirects"]) equal((await site.ask(name)).status, 404);
  const blog = await site.ask("/blog/");
  deepEqual([blog.headers.get("x-frame-options"), blog.headers.get("cache-control")], ["DENY", "public, max-age=60"]);
  equal((await site.ask("/missing")).headers.get("x-frame-options"), "DENY");
  site.write("_redirects", "/old/* /about 308\n");
  deepEqual(await ask("/old/x"), [308, "/about"]);
  site.write("_redirects", "not a rule\n");
  deepEqual(await ask("/old/x"), [308, "/about"]);
  for (const [name, text] of [["_redirects", "/a"], ["_redirects", "/a /b 299"], ["_headers", "  X: y"]]) {
    throws(() => openTestSite({ ...FILES, [name]: text }), /cannot serve .*_\w+, line 1: /);
  }
  throws(() => openTestSite({ ...FILES, "_headers": "/*\n  Content-Length: 1" }), /Content-Length cannot be set/);
});
