import { deepEqual, equal } from "node:assert/strict";
import fs from "node:fs";
import { listNames, openTestShare, type TestShare } from "./_test_share.ts";

async function trash(share: TestShare, target: string): Promise<string> {
  const response = await share.ask(`${target}?trash`, { method: "POST" });
  equal(response.status, 200);
  return (await response.json()).id;
}

Deno.test("what was put into the trash is out of sight, listed, and back where it was when it is restored", async () => {
  await using share = openTestShare({ writable: true });
  share.write("docs/a.txt", "one");
  share.write("docs/deep/b.txt", "two");
  const file = await trash(share, "/docs/a.txt");
  const folder = await trash(share, "/docs/deep");
  deepEqual(await listNames(share, "/docs/"), []);
  const { items } = await (await share.ask("/?trash")).json();
  deepEqual(items.map(({ id, path, kind, size }: Record<string, unknown>) => ({ id, path, kind, size })), [
    { id: folder, path: "/docs/deep/", kind: "folder", size: 0 },
    { id: file, path: "/docs/a.txt", kind: "file", size: 3 },
  ]);
  for (const id of [file, folder]) equal((await share.ask(`/?restore=${id}`, { method: "POST" })).status, 200);
  deepEqual([share.read("docs/a.txt"), share.read("docs/deep/b.txt")], ["one", "two"]);
  equal((await share.ask(`/?restore=${file}`, { method: "POST" })).status, 404);
});

Deno.test("what is restored where its name or folder has changed goes beside it, or makes the folder anew", async () => {
  await using share = openTestShare({ writable: true });
  share.write("docs/a.txt", "old");
  const id = await trash(share, "/docs/a.txt");
  share.write("docs/a.txt", "new");
  const { path } = await (await share.ask(`/?restore=${id}`, { method: "POST" })).json();
  deepEqual([path, share.read("docs/a.txt"), share.read("docs/a (2).txt")], ["/docs/a%20(2).txt", "new", "old"]);
  const other = await trash(share, "/docs/a.txt");
  await share.ask("/docs", { method: "DELETE" });
  equal((await share.ask(`/?restore=${other}`, { method: "POST" })).status, 200);
  equal(share.read("docs/a.txt"), "new");
});

Deno.test("the trash obeys the rules of the share, can be emptied, and ends with it", async () => {
  await using share = openTestShare({ writable: true });
  share.write("a.txt", "one");
  share.write(".hidden", "two");
  equal((await share.ask("/.hidden?trash", { method: "POST" })).status, 404);
  equal((await share.ask("/none?trash", { method: "POST" })).status, 404);
  equal((await share.ask("/?trash", { method: "POST" })).status, 409);
  const foreign = { method: "POST", headers: { origin: "http://elsewhere.test" } };
  equal((await share.ask("/a.txt?trash", foreign)).status, 403);
  await trash(share, "/a.txt");
  equal((await share.ask("/?trash", { method: "DELETE" })).status, 204);
  deepEqual((await (await share.ask("/?trash")).json()).items, []);
  share.write("b.txt", "three");
  await trash(share, "/b.txt");
  await share.target.close();
  deepEqual(fs.readdirSync(share.path), [".hidden"]);
  await using reader = openTestShare({ writable: false });
  reader.write("a.txt", "one");
  deepEqual([(await reader.ask("/?trash")).status, (await reader.ask("/a.txt?trash", { method: "POST" })).status], [
    403,
    403,
  ]);
});

Deno.test("a visitor who watches a folder is told of changes in it, once for many, until the share ends", async () => {
  await using share = openTestShare();
  share.write("docs/a.txt", "one");
  const response = await share.ask("/docs/?watch");
  equal(response.headers.get("content-type"), "text/event-stream");
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  equal((await reader.read()).value, "retry: 3000\n\n");
  for (let index = 0; index < 100; index++) share.write(`docs/${index}.txt`, "more");
  equal((await reader.read()).value, "event: change\ndata:\n\n");
  await share.target.close();
  await reader.cancel();
  equal((await share.ask("/docs/?watch")).status, 503);
});

Deno.test("a zip takes what a search found below the folder by its path, and nothing from outside", async () => {
  await using share = openTestShare();
  share.write("docs/deep/needle.txt", "found");
  share.write("needle.txt", "other");
  const body = new URLSearchParams([["name", "docs/deep/needle.txt"], ["name", "../outside/secret.txt"]]).toString();
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const zip = new TextDecoder("latin1").decode(
    await (await share.ask("/?zip", { method: "POST", body, headers })).bytes(),
  );
  // What was asked for and is not there is told by the name that it was asked for by.
  const rest = zip.replace('"../outside/secret.txt": it is not there', "");
  deepEqual([zip.includes("docs/deep/needle.txt"), zip.includes("found")], [true, true]);
  deepEqual([rest.length < zip.length, rest.includes("secret")], [true, false]);
});

Deno.test("a browser gets the page of what a search found, and a way back from where nothing is", async () => {
  await using share = openTestShare();
  share.write("docs/needle.txt", "found");
  const headers = { accept: "text/html" };
  const page = await (await share.ask("/?search=needle", { headers })).text();
  equal(page.includes('"name":"docs/needle.txt"'), true);
  const missing = await share.ask("//elsewhere.test/%3Cb%3E", { headers });
  const text = await missing.text();
  deepEqual([missing.status >= 400, text.includes("<b>"), text.includes('href="//')], [true, false, false]);
  const gone = await (await share.ask("/docs/none.txt", { headers })).text();
  equal(gone.includes('href="/docs/"'), true);
});
