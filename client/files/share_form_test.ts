import { deepEqual, equal, match, ok } from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { type AskOptions, openTestShare, type TestShare } from "./_test_share.ts";

/** Sends a form with files, as a browser or `curl -F` does. */
function send(share: TestShare, target: string, files: [name: string, content: string][], init: AskOptions = {}) {
  const form = new FormData();
  form.append("note", "passed over");
  for (const [name, content] of files) form.append("file", new Blob([content]), name);
  return share.ask(target, { method: "POST", body: form, ...init });
}

function list(share: TestShare): string[] {
  return fs.readdirSync(share.path, { recursive: true }).map(String).filter((name) => !name.startsWith(".portway"))
    .sort();
}

Deno.test("a form's files arrive in the folder it is sent to, none of them over another", async () => {
  await using share = openTestShare({ writable: true });
  share.write("sub/a.tar.gz", "old");
  const made = await send(share, "/sub/", [["a.tar.gz", "new"], ["ü b.txt", "b"], ["empty", ""]]);
  deepEqual([made.status, await made.json()], [201, { uploaded: ["a (2).tar.gz", "ü b.txt", "empty"] }]);
  deepEqual(list(share), ["sub", "sub/a (2).tar.gz", "sub/a.tar.gz", "sub/empty", "sub/ü b.txt"]);
  deepEqual([share.read("sub/a.tar.gz"), share.read("sub/a (2).tar.gz")], ["old", "new"]);
  for (const name of ["my.report.2026.txt", "README", "n".repeat(255), `${"ü".repeat(120)}.tar.gz`]) {
    for (let times = 0; times < 2; times++) equal((await send(share, "/names/", [[name, "x"]])).status, 201);
  }
  const numbered = list(share).filter((name) => name.startsWith("names/") && name.includes(" (2)"));
  deepEqual(numbered.map((name) => name.replace(/(.)\1{20,}/g, "$1…")), [
    "names/README (2)",
    "names/my.report.2026 (2).txt",
    "names/n… (2)",
    "names/ü… (2).tar.gz",
  ]);
  equal((await send(share, "/sub/?overwrite", [["a.tar.gz", "third"]])).status, 201);
  equal(share.read("sub/a.tar.gz"), "third");
  fs.symlinkSync("sub/a.tar.gz", path.join(share.path, "latest"));
  const linked = await send(share, "/?overwrite", [["latest", "fourth"]]);
  deepEqual([await linked.json(), share.read("sub/a.tar.gz")], [{ uploaded: ["latest"] }, "fourth"]);
  const browser = await send(share, "/sub/", [["c", "c"]], { headers: { accept: "text/html" } });
  deepEqual([browser.status, browser.headers.get("location")], [303, "?"]);
});

Deno.test("a form is held to the names, the limit and the origin that every upload is held to", async () => {
  await using share = openTestShare({ writable: true, maxUpload: 10 });
  equal((await send(share, "/", [["a", "12345678901"]])).status, 413);
  equal((await send(share, "/", [[".hidden", "x"]])).status, 403);
  equal((await send(share, "/", [])).status, 400);
  equal((await send(share, "/file", [["a", "x"]])).status, 400);
  equal((await send(share, "/", [["a", "x"]], { headers: { origin: "http://evil.test" } })).status, 403);
  const broken = await share.ask("/", {
    method: "POST",
    body: '--x\r\ncontent-disposition: form-data; name="f"; filename="cut.txt"\r\n\r\nhalf of',
    headers: { "content-type": "multipart/form-data; boundary=x" },
  });
  equal(broken.status, 400);
  const nonsense = await share.ask("/", {
    method: "POST",
    body: "x",
    headers: { "content-type": "multipart/form-data; x" },
  });
  equal(nonsense.status, 400);
  deepEqual(list(share), []);
});

Deno.test("a form of 1,000 files arrives whole, and one of more is refused", async () => {
  await using share = openTestShare({ writable: true });
  const files = Array.from({ length: 1000 }, (_, index): [string, string] => [`${index}.txt`, "x".repeat(index)]);
  equal((await send(share, "/", files)).status, 201);
  deepEqual([list(share).length, share.read("999.txt").length], [1000, 999]);
  equal((await send(share, "/", [...files, ["more.txt", "x"]])).status, 413);
});

Deno.test("who drops files sees nothing: no name, no size, and not whether a name is taken", async () => {
  await using share = openTestShare({ writable: true, drop: true });
  share.write("taken.txt", "secret");
  share.write("folder/inside.txt", "secret");
  fs.symlinkSync("../outside", path.join(share.path, "out"));
  const page = await share.ask("/", { headers: { accept: "text/html" } });
  const html = await page.text();
  ok(page.status === 200 && !html.includes("taken") && !html.includes("folder"), html);
  for (const target of ["/taken.txt", "/missing.txt", "/folder/", "/folder/inside.txt", "/?none"]) {
    const looks = await share.ask(target);
    const asked = await share.ask(target, { method: "HEAD" });
    equal(looks.status, target === "/?none" ? 200 : 404, target);
    equal(asked.status, looks.status, target);
    ok(!(await looks.text()).includes("secret"));
  }
  for (const query of ["?zip", "?tar", "?json", "?simple", "?search=t", "?plain", "?hash"]) {
    ok(!(await (await share.ask(`/${query}`)).text()).includes("taken"), query);
  }
  const answers = [];
  for (const name of ["taken.txt", "folder", "out", "new.txt"]) {
    const { status, headers } = await share.ask(`/${name}`, { method: "PUT", body: "mine" });
    answers.push([status, [...headers.keys()].join()]);
  }
  deepEqual(answers, Array.from({ length: 4 }, () => [201, ""]));
  equal((await send(share, "/", [["taken.txt", "form"]])).status, 201);
  deepEqual(list(share).filter((name) => !name.includes("/")), [
    "folder",
    "folder (2)",
    "new.txt",
    "out",
    "out (2)",
    "taken (2).txt",
    "taken (3).txt",
    "taken.txt",
  ]);
  equal(share.read("taken.txt"), "secret");
});

Deno.test("who drops files can do nothing else", async () => {
  await using share = openTestShare({ writable: true, drop: true });
  share.write("a.txt", "a");
  const tries: [method: string, target: string, headers: Record<string, string>][] = [
    ["DELETE", "/a.txt", {}],
    ["MOVE", "/a.txt", { destination: "/b.txt" }],
    ["COPY", "/a.txt", { destination: "/b.txt" }],
    ["PROPFIND", "/", { depth: "1" }],
    ["MKCOL", "/new", {}],
    ["LOCK", "/a.txt", {}],
    ["POST", "/a.txt?move=b.txt", {}],
    ["POST", "/new?mkdir", {}],
    ["POST", "/?zip", {}],
    ["PUT", "/folder/b.txt", {}],
    ["PUT", "/a.txt", { "content-range": "bytes 0-0/2" }],
  ];
  for (const [method, target, headers] of tries) {
    const { status } = await share.ask(target, { method, headers, body: method === "PUT" ? "x" : undefined });
    ok(status === 403 || status === 405, `${method} ${target}: ${status}`);
  }
  deepEqual(list(share), ["a.txt"]);
  const part = { "content-range": "bytes 0-0/2" };
  equal((await share.ask("/a.txt?upload=mine", { method: "PUT", body: "x", headers: part })).status, 202);
  match((await share.ask("/a.txt?upload=mine", { method: "HEAD" })).headers.get("upload-offset") ?? "", /^1$/);
  const rest = { "content-range": "bytes 1-1/2" };
  equal((await share.ask("/a.txt?upload=mine", { method: "PUT", body: "y", headers: rest })).status, 201);
  equal(share.read("a (2).txt"), "xy");
});
