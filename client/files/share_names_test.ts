import { equal, match, ok, throws } from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { openTestShare, type TestShare } from "./_test_share.ts";
import { portableLook } from "./disk/look.ts";
import { openRoot } from "./disk/root.ts";
import { type DiskSystem, thisSystem } from "./disk/system.ts";
import { listFolder } from "./serve/listing.ts";
import { walk } from "./serve/search.ts";

/**
 * A system whose file system finds entries by other names too. Here these are hard links, so that they can be opened;
 * the real path of one has the entry's own name, as it has on Windows and macOS.
 */
function knowing(platform: string, ownNames: Readonly<Record<string, string>>): DiskSystem {
  const realPath = (asked: string) => {
    const real = fs.realpathSync.native(asked);
    return real.split(path.sep).map((name) => ownNames[name] ?? name).join(path.sep);
  };
  return { ...thisSystem, platform, hasDescriptorPaths: false, realPath };
}

/** A hidden file, and another name that a system finds it by. */
const HIDDEN: readonly [platform: string, own: string, other: string][] = [
  ["win32", ".env", "ENV~1"],
  ["win32", ".portway-uploads-1", "PORTWA~1"],
  ["win32", ".htpasswd", "HTPASS~1"],
  ["darwin", ".env", "\u200c.env"],
  ["darwin", ".portway-uploads-1", "\ufeff.portway-uploads-1"],
];

async function plantHidden(platform: string, own: string, other: string): Promise<TestShare> {
  const share = openTestShare({ writable: true, system: knowing(platform, { [other]: own }) });
  share.write(own, "hidden words");
  share.write("seen.txt", "seen");
  fs.linkSync(path.join(share.path, own), path.join(share.path, other));
  equal(await (await share.ask("/seen.txt")).text(), "seen");
  return share;
}

for (const [platform, own, other] of HIDDEN) {
  const name = encodeURIComponent(other);
  Deno.test(`share shows ${own} by its other name ${name} on no route, as on ${platform}`, async () => {
    await using share = await plantHidden(platform, own, other);
    for (const target of [`/${name}`, `/${name}?download`, `/?zip&name=${name}`, `/?tar&name=${name}`]) {
      ok(!(await (await share.ask(target)).text()).includes("hidden words"), target);
    }
    equal((await share.ask(`/${name}`)).status, 404);
    equal((await share.ask(`/${name}`, { method: "HEAD" })).status, 404);
    equal((await share.ask(`/${name}`, { method: "PROPFIND", headers: { depth: "0" } })).status, 404);
  });

  Deno.test(`share lets nobody change ${own} by its other name ${name}, as on ${platform}`, async () => {
    await using share = await plantHidden(platform, own, other);
    const destination = { destination: `/${name}`, overwrite: "T" };
    const requests: readonly [string, RequestInit][] = [
      [`/${name}`, { method: "PUT", body: "mine" }],
      [`/${name}`, { method: "DELETE" }],
      [`/${name}?trash`, { method: "POST" }],
      [`/${name}?move=/taken.txt`, { method: "POST" }],
      [`/${name}`, { method: "MOVE", headers: { destination: "/taken.txt" } }],
      [`/${name}`, { method: "COPY", headers: { destination: "/taken.txt" } }],
      [`/seen.txt?move=/${name}&overwrite`, { method: "POST" }],
      ["/seen.txt", { method: "MOVE", headers: destination }],
      ["/seen.txt", { method: "COPY", headers: destination }],
      [`/${name}`, { method: "MKCOL" }],
    ];
    for (const [target, init] of requests) {
      const { status } = await share.ask(target, init);
      ok([403, 404, 405, 409, 412].includes(status), `${init.method} ${target}: ${status}`);
      equal(share.read(own), "hidden words", `${init.method} ${target}`);
    }
    ok(!fs.existsSync(path.join(share.path, "taken.txt")));
  });

  Deno.test(`a form gives a file another name than ${name}, which ${own} has, as on ${platform}`, async () => {
    await using share = await plantHidden(platform, own, other);
    const form = new FormData();
    form.append("file", new File(["mine"], other));
    const body = new Response(form);
    const headers = { "content-type": body.headers.get("content-type") ?? "" };
    equal((await share.ask("/", { method: "POST", headers, body: await body.text() })).status, 201);
    equal(share.read(own), "hidden words");
    ok(fs.readdirSync(share.path).some((added) => added.includes("(2)")), fs.readdirSync(share.path).join());
  });
}

Deno.test("share gives a visible file by the other names that the system finds it by", async () => {
  const names = { "FILE.TXT": "file.txt", "LONGNA~1.TXT": "long name of it.txt" };
  await using share = openTestShare({ writable: true, system: knowing("win32", names) });
  for (const [other, own] of Object.entries(names)) {
    share.write(own, own);
    fs.linkSync(path.join(share.path, own), path.join(share.path, other));
    equal(await (await share.ask(`/${encodeURIComponent(other)}`)).text(), own);
  }
});

/** This system, as with a disk that has short names. */
const FAT: DiskSystem = { ...thisSystem, mayHaveShortNames: () => true };

Deno.test("openRoot takes a name that looks short for what the folder says it is, as on a disk with FAT", async () => {
  await using share = openTestShare();
  share.write("ENV~1", "hidden by another name");
  share.write("NOTES~1", "called so");
  share.write("FOLDER~1/a", "in a folder");
  const listNames = (held: { fd: number; path: string }) =>
    portableLook.listNames(held).map((name) => name === "ENV~1" ? ".env" : name === "FOLDER~1" ? ".folder" : name);
  const root = openRoot({ path: share.path, hidden: false, look: { ...portableLook, listNames }, system: FAT });
  for (const hidden of [["ENV~1"], ["FOLDER~1"], ["FOLDER~1", "a"]]) {
    throws(() => root.open(hidden), { status: 404 }, hidden.join("/"));
  }
  root.open(["NOTES~1"]).close();
  const folder = root.openFolder([]);
  try {
    const seen = ["ENV~1", "NOTES~1", "FOLDER~1", "MISSIN~1"].filter((name) => root.isSeenBy(folder, name));
    equal(seen.join(), "NOTES~1,MISSIN~1");
  } finally {
    folder.close();
  }
});

Deno.test("a folder whose entries all have names that look short is looked at a few times, and not for each of them", async () => {
  await using share = openTestShare();
  share.write("target", "x");
  for (let index = 0; index < 100; index++) {
    share.write(`A~${index}/file`, "");
    fs.symlinkSync("target", path.join(share.path, `L~${index}`));
  }
  let looks = 0;
  const listNames = (held: { fd: number; path: string }) => {
    if (fs.realpathSync(held.path) === share.path) looks++;
    return portableLook.listNames(held);
  };
  const root = openRoot({ path: share.path, hidden: false, look: { ...portableLook, listNames }, system: FAT });
  const folder = root.openFolder([]);
  try {
    equal((await listFolder(root, folder)).length, 201);
    equal([...walk(root, [])].filter((found) => found?.path.endsWith("/file")).length, 100);
    for (let index = 0; index < 100; index++) equal(root.readEntry(folder, `L~${index}`, new Uint8Array(2)), 1);
    ok(looks < 5, String(looks));
  } finally {
    folder.close();
  }
});

Deno.test("where names have no short form nothing is looked at for a name that looks so", async () => {
  await using share = openTestShare();
  const names = Array.from({ length: 100 }, (_, index) => `A~${index}`);
  for (const name of names) share.write(`${name}/B~1`, name);
  let looks = 0;
  const listNames = (held: { fd: number; path: string }) => {
    looks++;
    return portableLook.listNames(held);
  };
  const system = { ...thisSystem, mayHaveShortNames: () => false };
  const root = openRoot({ path: share.path, hidden: false, look: { ...portableLook, listNames }, system });
  for (const name of names) root.open([name, "B~1"]).close();
  equal(looks, 0);
});

Deno.test("share renames a file to itself in letters of another case, and replaces no other file by it", async () => {
  await using share = openTestShare({ writable: true });
  share.write("a.txt", "small");
  fs.linkSync(path.join(share.path, "a.txt"), path.join(share.path, "other.txt"));
  // One number for two names is one file to a system that does not tell cases apart; these are two names of their own.
  equal((await share.ask("/a.txt?move=/other.txt", { method: "POST" })).status, 409);
  equal((await share.ask("/a.txt?move=/A.txt", { method: "POST" })).status, 201);
  equal(share.read("A.txt"), "small");
});

Deno.test("search finds a name however its accents are written", async () => {
  await using share = openTestShare();
  share.write("Cafe\u0301.txt", "");
  share.write("Th\u00e9.txt", "");
  for (const query of ["caf\u00e9", "cafe\u0301", "CAF\u00c9", "th\u00e9", "the\u0301"]) {
    match(await (await share.ask(`/?search=${encodeURIComponent(query)}&simple`)).text(), /\.txt/, query);
  }
});
