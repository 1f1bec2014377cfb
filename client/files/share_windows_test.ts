import { equal, ok } from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { openTestShare, type TestShare } from "./_test_share.ts";
import { type DiskSystem, thisSystem } from "./disk/system.ts";

const WINDOWS: DiskSystem = { ...thisSystem, platform: "win32", hasDescriptorPaths: false };

/** Names that mean something else on Windows. Here they can be made, so that what reaches them is seen. */
const NAMES = [
  ...["CON", "nul", "NUL.txt", "aux.txt", "com1.log", "LPT9", "CONIN$", "nul .txt"],
  ...["C:", "C:foo", "seen.txt:stream", "seen.txt::$DATA", "folder::$INDEX_ALLOCATION"],
  ...["seen.txt.", "seen.txt ", ".env.", "portway...", "a?", "a*", "a|b", "a<b", "a>b", 'a"b', "a\x01"],
];

/** Targets that would leave the folder, or name a device, if anything took them apart as Windows does. */
const TARGETS = [
  ...["/..%5c..%5cwindows%5cwin.ini", "/..\\..\\windows\\win.ini", "/%5c%5cserver%5cshare", "/%5c%5c%3f%5cC:%5cx"],
  ...["/C:/windows/win.ini", "/C%3a%5cwindows", "/c:..", "//server/share/x", "/%2e%2e%5cx", "/folder%5c..%5c..%5cx"],
  ...["/CON", "/folder/CON", "/con.txt/", "/file.txt::$DATA", "/file.txt%3A%3A%24DATA", "/name.", "/name%20", "/..."],
];

function plant(): TestShare {
  const share = openTestShare({ writable: true, system: WINDOWS });
  share.write("seen.txt", "seen");
  share.write("folder/seen.txt", "seen");
  for (const name of NAMES) share.write(name, "planted");
  return share;
}

for (const target of TARGETS) {
  Deno.test(`share on Windows takes no address ${target}`, async () => {
    await using share = plant();
    const methods: readonly [string, string?][] = [
      ["GET"],
      ["HEAD"],
      ["PUT", "x"],
      ["DELETE"],
      ["MKCOL"],
      ["PROPFIND"],
      ["LOCK"],
    ];
    for (const [method, body] of methods) equal((await share.ask(target, { method, body })).status, 400, method);
    for (const method of ["MOVE", "COPY"]) {
      const { status } = await share.ask("/seen.txt", { method, headers: { destination: target } });
      ok(status >= 400 && status < 500, `${method}: ${status}`);
    }
    equal(share.read("seen.txt"), "seen");
  });
}

for (const name of NAMES) {
  Deno.test(`share on Windows has nothing of the name ${JSON.stringify(name)} on any route`, async () => {
    await using share = plant();
    const escaped = encodeURIComponent(name);
    equal((await share.ask(`/${escaped}`)).status, 400);
    for (const target of ["/?simple", "/?json", `/?search=${escaped}`, `/?zip&name=${escaped}`, "/?tar"]) {
      ok(!(await (await share.ask(target)).text()).includes("planted"), target);
    }
    ok(!(await (await share.ask("/?simple")).text()).split("\n").includes(name));
    const form = new FormData();
    form.append("file", new File(["mine"], name));
    const body = new Response(form);
    const requests: [string, RequestInit][] = [
      [`/seen.txt?move=/${escaped}&overwrite`, { method: "POST" }],
      [`/seen.txt?move=${escaped}`, { method: "POST" }],
      ["/seen.txt", { method: "MOVE", headers: { destination: `/${escaped}`, overwrite: "T" } }],
      ["/seen.txt", { method: "COPY", headers: { destination: `/${escaped}`, overwrite: "T" } }],
      ["/?overwrite", {
        method: "POST",
        headers: { "content-type": body.headers.get("content-type") ?? "" },
        body: await body.text(),
      }],
    ];
    // A form cannot hold a quote in a name: it is another name then.
    if (name.includes('"')) requests.pop();
    for (const [target, init] of requests) {
      const { status } = await share.ask(target, init);
      ok(status >= 400 && status < 500, `${init.method} ${target}: ${status}`);
    }
    equal(fs.readFileSync(path.join(share.path, name), "utf8"), "planted");
    equal(share.read("seen.txt"), "seen");
  });
}
