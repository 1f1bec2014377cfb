import { deepEqual, equal } from "node:assert/strict";
import fs from "node:fs";
import { openTestShare, type TestShare } from "./_test_share.ts";
import process from "node:process";
import { createFileShare } from "./share.ts";

const PART = { method: "PUT", headers: { "content-range": "bytes 0-3/8" }, body: "half" };

async function getOffset(share: Pick<TestShare, "ask">, target: string): Promise<string | null> {
  return (await share.ask(target, { method: "HEAD" })).headers.get("upload-offset");
}

/** Another share of the same folder, as after a restart. */
function reopen(share: TestShare): Pick<TestShare, "ask"> & AsyncDisposable {
  const target = createFileShare({ path: share.path, writable: true });
  return {
    ask: (rawTarget, init = {}) => {
      const headers = new Headers(init.headers);
      headers.set("host", "share.test");
      if (typeof init.body === "string") headers.set("content-length", String(init.body.length));
      const request = new Request("http://share.test/", { ...init, headers });
      return target.fetch(request, { path: rawTarget, remoteAddress: "192.0.2.1" });
    },
    [Symbol.asyncDispose]: () => target.close(),
  };
}

Deno.test("a part of an upload with an id outlives the share, and is continued by the next one", async () => {
  await using share = openTestShare({ writable: true });
  equal((await share.ask("/new/a.bin?upload=one", PART)).status, 202);
  equal((await share.ask("/b.bin?upload", PART)).status, 202);
  await share.target.close();
  await using next = reopen(share);
  deepEqual([await getOffset(next, "/new/a.bin?upload=one"), await getOffset(next, "/b.bin?upload")], ["4", "0"]);
  const rest = { method: "PUT", headers: { "content-range": "bytes 4-7/8" }, body: "rest" };
  equal((await next.ask("/new/a.bin?upload=one", rest)).status, 201);
  equal(share.read("new/a.bin"), "halfrest");
});

Deno.test("a kept part that is given up, completed or damaged leaves nothing behind when the share ends", async () => {
  await using share = openTestShare({ writable: true });
  await share.ask("/a.bin?upload=one", PART);
  await share.ask("/b.bin?upload=two", PART);
  await share.ask("/b.bin?upload=two", { method: "PUT", headers: { "content-range": "bytes 4-7/8" }, body: "rest" });
  await share.ask("/a.bin?upload=one", { method: "DELETE" });
  await share.ask("/c.bin?upload=three", PART);
  await share.target.close();
  const [left] = fs.readdirSync(share.path).filter((name) => name.startsWith("."));
  const note = fs.readdirSync(`${share.path}/${left}`).find((name) => name.endsWith(".note"));
  fs.writeFileSync(`${share.path}/${left}/${note}`, '{"key":');
  await using _next = reopen(share);
  deepEqual(fs.readdirSync(share.path).filter((name) => !name.includes(String(process.pid))), ["b.bin"]);
});
