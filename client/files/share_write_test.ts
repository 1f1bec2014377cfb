import { deepEqual, equal, match, ok } from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { listNames, openTestShare, type TestShare } from "./_test_share.ts";

function put(share: TestShare, target: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  return share.ask(target, { method: "PUT", body, headers });
}

/** Every name in the shared folder that is not the share's own. */
function listDisk(share: TestShare): string[] {
  return fs.readdirSync(share.path, { recursive: true }).map(String).filter((name) => !name.startsWith(".portway"))
    .sort();
}

Deno.test("PUT makes a file and its parents, then replaces it: 201 and 200 with the tag of what is there", async () => {
  await using share = openTestShare({ writable: true });
  const made = await put(share, "/new/deep/a.txt", "one");
  deepEqual([made.status, await made.text()], [201, ""]);
  equal(made.headers.get("etag"), (await share.ask("/new/deep/a.txt")).headers.get("etag"));
  const replaced = await put(share, "/new/deep/a.txt", "two");
  equal(replaced.status, 200);
  ok(replaced.headers.get("etag") !== made.headers.get("etag"));
  equal(share.read("new/deep/a.txt"), "two");
  equal((await put(share, "/empty", "")).status, 201);
  equal(share.read("empty"), "");
});

Deno.test("PUT follows the conditions of its request", async () => {
  await using share = openTestShare({ writable: true });
  const star = { "if-none-match": "*" };
  const made = await put(share, "/a", "1", star);
  const tag = made.headers.get("etag") ?? "";
  equal(made.status, 201);
  const refused = await put(share, "/a", "2", star);
  deepEqual([refused.status, await refused.text(), refused.headers.get("etag")], [412, "", tag]);
  equal((await put(share, "/a", "2", { "if-none-match": tag })).status, 412);
  equal((await put(share, "/a", "2", { "if-match": '"other"' })).status, 412);
  equal((await put(share, "/b", "2", { "if-match": "*" })).status, 412);
  equal(share.read("a"), "1");
  const replaced = await put(share, "/a", "2", { "if-none-match": '"other"' });
  equal(replaced.status, 200);
  ok(replaced.headers.has("etag"));
  equal((await put(share, "/a", "3", { "if-match": replaced.headers.get("etag") ?? "" })).status, 200);
});

Deno.test("PUT with If-None-Match * lets exactly one of many writers be first", async () => {
  await using share = openTestShare({ writable: true });
  const answers = await Promise.all(
    Array.from(
      { length: 20 },
      (_, index) => put(share, `/a?upload=w${index}`, `writer ${index}`, { "if-none-match": "*" }),
    ),
  );
  deepEqual(answers.map(({ status }) => status).filter((status) => status === 201), [201]);
  equal(answers.filter(({ status }) => status === 412).length, 19);
});

Deno.test("PUT refuses with 417 what is announced as too large before it reads the body", async () => {
  await using share = openTestShare({ writable: true, maxUpload: 10 });
  let isRead = false;
  const body = new ReadableStream<Uint8Array>({ pull: () => void (isRead = true) }, { highWaterMark: 0 });
  const response = await share.ask("/a", { method: "PUT", body, headers: { "content-length": "11" } });
  equal(response.status, 417);
  deepEqual(await response.json(), {
    error: "Expectation Failed",
    message: "The file is larger than this share takes.",
    suggestion: "Send a smaller file, or ask for the limit to be raised.",
    max_file_size: 10,
    your_file_size: 11,
  });
  equal(isRead, false);
  const part = await put(share, "/a", "x", { "content-range": "bytes 0-0/11" });
  equal(part.status, 417);
  const odd = await put(share, "/a", "x", { expect: "200-ok" });
  deepEqual([odd.status, (await odd.json()).supported_expectations], [417, ["100-continue"]]);
  equal((await put(share, "/a", "0123456789")).status, 201);
  deepEqual(listDisk(share), ["a"]);
});

Deno.test("PUT of unknown length stops at the limit and leaves nothing", async () => {
  await using share = openTestShare({ writable: true, maxUpload: 10 });
  const body = streamOf("12345", "67890", "1");
  const response = await share.ask("/a", { method: "PUT", body });
  deepEqual([response.status, response.headers.get("portway-error")], [413, "file_too_large"]);
  equal((await share.ask("/b", { method: "PUT", body: streamOf("12345", "67890") })).status, 201);
  deepEqual(listDisk(share), ["b"]);
});

function streamOf(...texts: string[]): ReadableStream<Uint8Array> {
  return ReadableStream.from(texts.map((text) => new TextEncoder().encode(text)));
}

/** A body that breaks off after some text, as when the visitor's network goes. */
function brokenBody(text: string): ReadableStream<Uint8Array> {
  let isFirst = true;
  return new ReadableStream({
    pull(controller) {
      if (isFirst) controller.enqueue(new TextEncoder().encode(text));
      else controller.error(new Error("connection reset"));
      isFirst = false;
    },
  });
}

Deno.test("PUT that is cut off shows nothing, and goes on where it stopped", async () => {
  await using share = openTestShare({ writable: true });
  const cut = await share.ask("/a.bin", {
    method: "PUT",
    body: brokenBody("01234"),
    headers: { "content-length": "10" },
  });
  deepEqual([cut.status, cut.headers.get("portway-error")], [400, "upload_cut"]);
  deepEqual(listDisk(share), []);
  deepEqual(await listNames(share), []);
  equal((await share.ask("/a.bin?upload", { method: "HEAD" })).headers.get("upload-offset"), "5");
  const rest = await put(share, "/a.bin", "56789", { "content-range": "bytes 5-9/10" });
  equal(rest.status, 201);
  equal(share.read("a.bin"), "0123456789");
  equal((await share.ask("/a.bin?upload", { method: "HEAD" })).headers.get("upload-offset"), "0");
});

Deno.test("PUT in parts tells the offset after each and wants the next part to begin there", async () => {
  await using share = openTestShare({ writable: true });
  const first = await put(share, "/a?upload=x1", "abc", { "content-range": "bytes 0-2/8" });
  deepEqual([first.status, first.headers.get("upload-offset")], [202, "3"]);
  for (const range of ["bytes 4-7/8", "bytes 2-7/8", "bytes 7-7/8"]) {
    const [start, end] = range.slice(6, 9).split("-").map(Number);
    const wrong = await put(share, "/a?upload=x1", "z".repeat(end - start + 1), { "content-range": range });
    deepEqual([wrong.status, wrong.headers.get("upload-offset")], [409, "3"], range);
  }
  equal((await put(share, "/a?upload=x1", "zzzz", { "content-range": "bytes 3-6/9" })).status, 409);
  equal((await put(share, "/a?upload=other", "zzzzz", { "content-range": "bytes 3-7/8" })).status, 409);
  equal((await put(share, "/a?upload=x1", "defgh", { "content-range": "bytes 3-7/8" })).status, 201);
  equal(share.read("a"), "abcdefgh");
});

Deno.test("PUT refuses ranges and lengths that lie", async () => {
  await using share = openTestShare({ writable: true });
  const lies: [string, string][] = [
    ["abc", "bytes 0-3/8"],
    ["abcd", "bytes 0-2/8"],
    ["abc", "bytes 0-8/8"],
    ["abc", "bytes -3-0/8"],
    ["abc", "bytes 2-0/8"],
    ["abc", "bytes 0-2/*"],
    ["abc", "bytes 0-2/99999999999999999999"],
  ];
  for (const [body, range] of lies) {
    const response = await put(share, "/a", body, { "content-range": range });
    deepEqual([response.status, response.headers.get("portway-error")], [400, "bad_content_range"], range);
  }
  const longer = await share.ask("/a", {
    method: "PUT",
    body: streamOf("abc", "def"),
    headers: { "content-range": "bytes 0-2/8" },
  });
  deepEqual([longer.status, longer.headers.get("portway-error")], [400, "body_too_long"]);
  equal((await share.ask("/a?upload", { method: "HEAD" })).headers.get("upload-offset"), "0");
  const shorter = await share.ask("/a", { method: "PUT", body: streamOf("ab"), headers: { "content-length": "9" } });
  deepEqual([shorter.status, shorter.headers.get("upload-offset")], [400, "2"]);
  equal((await put(share, "/a?upload=../x", "a")).status, 400);
  deepEqual(listDisk(share), []);
});

Deno.test("PUT of the same part twice at once writes one of them, and the newest request wins over a stalled one", async () => {
  await using share = openTestShare({ writable: true });
  await put(share, "/a", "abcd", { "content-range": "bytes 0-3/8" });
  const both = await Promise.all(
    ["efgh", "EFGH"].map((text) => put(share, "/a", text, { "content-range": "bytes 4-7/8" })),
  );
  deepEqual(both.map(({ status }) => status).sort(), [201, 409]);
  match(share.read("a"), /^abcd(efgh|EFGH)$/);

  await put(share, "/b", "abcd", { "content-range": "bytes 0-3/8" });
  const started = Promise.withResolvers<void>();
  const stalled = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(new TextEncoder().encode("ef"));
      started.resolve();
      return new Promise(() => {});
    },
  }, { highWaterMark: 0 });
  const older = share.ask("/b", { method: "PUT", body: stalled, headers: { "content-range": "bytes 4-7/8" } });
  await started.promise;
  const newer = await put(share, "/b", "EFGH", { "content-range": "bytes 4-7/8" });
  const olderAnswer = await older;
  equal(olderAnswer.headers.get("portway-error"), "upload_taken_over");
  // What the older one had brought is kept, so the newer one is told to go on behind it.
  deepEqual([newer.status, newer.headers.get("upload-offset")], [409, "6"]);
  equal((await put(share, "/b", "GH", { "content-range": "bytes 6-7/8" })).status, 201);
  equal(share.read("b"), "abcdefGH");
});

Deno.test("DELETE ?upload forgets an upload", async () => {
  await using share = openTestShare({ writable: true });
  await put(share, "/a", "abcd", { "content-range": "bytes 0-3/8" });
  equal((await share.ask("/a?upload", { method: "DELETE" })).status, 204);
  equal((await share.ask("/a?upload", { method: "HEAD" })).headers.get("upload-offset"), "0");
  deepEqual(fs.readdirSync(path.join(share.path, fs.readdirSync(share.path)[0])), []);
});

Deno.test("share leaves nothing of its own behind, and removes what a killed one left", async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "portway-left-"));
  try {
    const { createFileShare } = await import("./share.ts");
    const ask = (share: ReturnType<typeof createFileShare>) =>
      share.fetch(
        new Request("http://x/", { method: "PUT", body: "ab", headers: { "content-range": "bytes 0-1/9" } }),
        { path: "/a", remoteAddress: "x" },
      );
    const first = createFileShare({ path: folder, writable: true });
    await ask(first);
    const [own] = fs.readdirSync(folder);
    match(own, /^\.portway-uploads-[0-9a-f]{8}-\d+-[0-9a-f]{12}$/);
    const dead = own.replace(/-\d+-(?=[0-9a-f]{12}$)/, "-999999999-");
    fs.mkdirSync(path.join(folder, dead));
    const second = createFileShare({ path: folder, writable: true });
    deepEqual(fs.readdirSync(folder), [own]);
    await ask(second);
    await second.close();
    deepEqual(fs.readdirSync(folder), [own]);
    await first.close();
    deepEqual(fs.readdirSync(folder), []);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});

Deno.test("PUT keeps the rights of a file that it replaces and refuses what is no file", async () => {
  await using share = openTestShare({ writable: true });
  share.write("run.sh", "old");
  fs.chmodSync(path.join(share.path, "run.sh"), 0o755);
  equal((await put(share, "/run.sh", "new")).status, 200);
  equal(fs.statSync(path.join(share.path, "run.sh")).mode & 0o777, 0o755);
  fs.mkdirSync(path.join(share.path, "folder"));
  for (
    const [target, code] of [
      ["/folder", "is_folder"],
      ["/", "is_folder"],
      ["/x/", "is_folder"],
      ["/run.sh/below", "parent_is_file"],
      ["/.portway-uploads-x/a", "hidden_name"],
      ["/sub/.git/config", "hidden_name"],
    ]
  ) equal((await put(share, target, "x")).headers.get("portway-error"), code, target);
});

Deno.test("POST and WebDAV's methods make folders, rename and move", async () => {
  await using share = openTestShare({ writable: true });
  share.write("a.txt", "a");
  const post = (target: string) => share.ask(target, { method: "POST" });
  const made = await post("/new%20folder/?mkdir");
  deepEqual([made.status, made.headers.get("location")], [201, "/new%20folder/"]);
  equal((await post("/new%20folder?mkdir")).status, 409);
  equal((await share.ask("/dav", { method: "MKCOL" })).status, 201);
  equal((await post("/a.txt?move=b%20c.txt")).headers.get("location"), "/b%20c.txt");
  equal((await post("/b%20c.txt?move=/new%20folder/sub/d.txt")).status, 201);
  const dav = await share.ask("/new%20folder/sub/d.txt", {
    method: "MOVE",
    headers: { destination: "http://share.test/dav/e%20f.txt" },
  });
  equal(dav.status, 201);
  equal(share.read("dav/e f.txt"), "a");
  share.write("taken.txt", "t");
  const taken = await post("/dav/e%20f.txt?move=/taken.txt");
  deepEqual([taken.status, taken.headers.get("portway-error")], [409, "already_exists"]);
  equal((await post("/dav/e%20f.txt?move=/taken.txt&overwrite")).status, 204);
  equal(share.read("taken.txt"), "a");
  for (const target of ["../x", "/../x", "/a/../../x", "/a\\b", "a/", "/", ""]) {
    equal((await post(`/taken.txt?move=${encodeURIComponent(target)}`)).status >= 400, true, target);
  }
  equal((await post("/taken.txt?move=.hidden")).headers.get("portway-error"), "hidden_name");
  equal((await post("/dav?move=")).headers.get("portway-error"), "bad_path");
  equal((await post("/dav?move=/dav/inside")).status, 409);
  equal((await post("/missing?move=x")).status, 404);
  equal((await post("/taken.txt")).status, 400);
});

Deno.test("DELETE removes files and folders with all that is in them", async () => {
  await using share = openTestShare({ writable: true });
  share.write("a.txt", "a");
  share.write("folder/deep/b.txt", "b");
  const remove = (target: string) => share.ask(target, { method: "DELETE" });
  equal((await remove("/a.txt")).status, 204);
  equal((await remove("/folder/")).status, 204);
  equal((await remove("/a.txt")).status, 404);
  equal((await remove("/")).status, 409);
  deepEqual(listDisk(share), []);
});

Deno.test("DELETE and moves follow the conditions of their requests", async () => {
  await using share = openTestShare({ writable: true });
  share.write("a.txt", "a");
  const tag = (await share.ask("/a.txt")).headers.get("etag") ?? "";
  const ways: [method: string, target: string, headers: Record<string, string>][] = [
    ["DELETE", "/a.txt", {}],
    ["POST", "/a.txt?move=new/b.txt", {}],
    ["MOVE", "/a.txt", { destination: "/new/b.txt" }],
  ];
  const failing = [
    ["if-match", '"other"'],
    ["if-none-match", "*"],
    ["if-none-match", tag],
    ["if-unmodified-since", "Thu, 01 Jan 1970 00:00:10 GMT"],
  ];
  for (const [method, target, headers] of ways) {
    for (const [name, condition] of failing) {
      const refused = await share.ask(target, { method, headers: { ...headers, [name]: condition } });
      const answer = [refused.status, refused.headers.get("etag"), await refused.text()];
      deepEqual(answer, [412, tag, ""], `${method} ${name}: ${condition}`);
      deepEqual(listDisk(share), ["a.txt"]);
    }
  }
  equal((await share.ask("/gone", { method: "DELETE", headers: { "if-match": "*" } })).status, 404);
  equal((await share.ask("/a.txt?move=b.txt", { method: "POST", headers: { "if-match": tag } })).status, 201);
  equal((await share.ask("/b.txt", { method: "DELETE", headers: { "if-match": tag } })).status, 204);
});

Deno.test("DELETE and moves take an address with a slash at its end for a folder's", async () => {
  await using share = openTestShare({ writable: true });
  share.write("a.txt", "a");
  share.write("folder/b.txt", "b");
  const ask = async (method: string, target: string, destination = "/to/") =>
    (await share.ask(target, { method, headers: { destination } })).status;
  equal(await ask("DELETE", "/a.txt/"), 404);
  equal(await ask("POST", "/a.txt/?move=b.txt"), 404);
  equal(await ask("MOVE", "/a.txt/", "/b.txt"), 404);
  equal(await ask("MOVE", "/a.txt", "/b.txt/"), 400);
  deepEqual(listDisk(share), ["a.txt", "folder", "folder/b.txt"]);
  equal(await ask("MOVE", "/folder/", "/to/"), 201);
  equal(await ask("DELETE", "/to/"), 204);
  deepEqual(listDisk(share), ["a.txt"]);
});

Deno.test("share says of a path that is too long for the system that it is, to who would write there", async () => {
  await using share = openTestShare({ writable: true });
  share.write("a.txt", "a");
  const long = "/long-name-of-a-folder".repeat(200);
  for (const [method, target] of [["PUT", long], ["MKCOL", long], ["POST", `/a.txt?move=${long}`]]) {
    const { status, headers } = await share.ask(target, { method });
    deepEqual([status, headers.get("portway-error")], [414, "path_too_long"], method);
  }
  equal((await share.ask(long)).status, 404);
  deepEqual(listDisk(share), ["a.txt"]);
});

Deno.test("share takes no method that is only a part of one", async () => {
  await using share = openTestShare({ writable: true });
  for (const method of ["P", "MOV"]) {
    equal((await share.ask("/folder?mkdir", { method })).status, 405, method);
  }
  deepEqual(listDisk(share), []);
});

Deno.test("share refuses changes that another site makes a browser send", async () => {
  await using share = openTestShare({ writable: true });
  share.write("a.txt", "a");
  for (const origin of ["https://evil.example", "null", "http://share.test.evil.example"]) {
    const response = await share.ask("/a.txt", { method: "DELETE", headers: { origin } });
    deepEqual([response.status, response.headers.get("portway-error")], [403, "foreign_origin"], origin);
  }
  equal((await share.ask("/a.txt", { method: "DELETE", headers: { origin: "http://share.test" } })).status, 204);
});

Deno.test("PUT with an id tells a sender that did not hear of it that its upload is complete", async () => {
  await using share = openTestShare({ writable: true });
  const star = { "if-none-match": "*" };
  const first = await put(share, "/a?upload=x", "abc", star);
  const again = await put(share, "/a?upload=x", "abc", star);
  deepEqual([again.status, again.headers.get("etag")], [201, first.headers.get("etag")]);
  const asked = await share.ask("/a?upload=x", { method: "HEAD" });
  deepEqual([asked.headers.get("upload-offset"), asked.headers.get("upload-complete")], ["3", "?1"]);
  equal((await put(share, "/a?upload=y", "abc", star)).status, 412);
  equal((await put(share, "/a", "abc", star)).status, 412);
  share.write("a", "changed");
  equal((await put(share, "/a?upload=x", "abc", star)).status, 412);
});

Deno.test("share moves no folder into itself, and leaves no trace of the try", async () => {
  await using share = openTestShare({ writable: true });
  share.write("a/b.txt", "b");
  for (const target of ["/a/a", "/a/new/deep", "/a"]) {
    const response = await share.ask(`/a?move=${target}`, { method: "POST" });
    equal(response.status, target === "/a" ? 201 : 409, target);
  }
  deepEqual(fs.readdirSync(share.path, { recursive: true }).sort(), ["a", "a/b.txt"]);
});

Deno.test("a program can save through a dot file, which no listing shows and which replaces no dot file of the owner", async () => {
  await using share = openTestShare({ writable: true });
  share.write("a.txt", "old");
  share.write(".env", "key");
  const send = async (target: string, method: string, init: { body?: string; destination?: string } = {}) => {
    const headers: Record<string, string> = init.destination === undefined ? {} : { destination: init.destination };
    return (await share.ask(target, { method, headers, body: init.body })).status;
  };
  equal(await send("/.a.txt.x7", "PUT", { body: "new" }), 201);
  equal(await (await share.ask("/.a.txt.x7")).text(), "new");
  deepEqual(await listNames(share), ["a.txt"]);
  const found = await share.ask("/.a.txt.x7", { method: "PROPFIND", headers: { depth: "0" } });
  match(await found.text(), /<D:href>\/\.a\.txt\.x7<\/D:href>.*<D:displayname>\.a\.txt\.x7</);
  equal(await send("/.a.txt.x7", "MOVE", { destination: "/.a.txt.x8" }), 201);
  equal(await send("/.a.txt.x8", "MOVE", { destination: "/a.txt" }), 204);
  deepEqual([share.read("a.txt"), await send("/.a.txt.x8", "GET")], ["new", 404]);
  equal(await send("/.env", "GET"), 404);
  equal(await send("/.env", "PUT", { body: "mine" }), 201);
  equal(await send("/.env", "DELETE"), 204);
  equal(share.read(".env"), "key");
  equal(await send("/a.txt", "MOVE", { destination: "/.bashrc" }), 403);
  equal(await send("/a.txt", "COPY", { destination: "/.bashrc" }), 403);
  equal(await send("/.ssh", "MKCOL"), 403);
  equal(await send("/.ssh/authorized_keys", "PUT", { body: "x" }), 403);
  equal(await send("/.bashrc", "PUT", { body: "x" }), 201);
  deepEqual(fs.readdirSync(share.path).filter((name) => !name.startsWith(".portway-")).sort(), [".env", "a.txt"]);
  await share.target.close();
  deepEqual(fs.readdirSync(share.path).sort(), [".env", "a.txt"]);
});
