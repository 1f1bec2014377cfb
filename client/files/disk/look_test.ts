import { deepEqual, equal, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { listOpen } from "../_open_files.ts";
import { openFolderCalls } from "./deno.ts";
import { streamTar } from "../archive/tar.ts";
import { listFolder } from "../serve/listing.ts";
import { searchNames } from "../serve/search.ts";
import { portableLook, systemLook } from "./look.ts";
import { openRoot } from "./root.ts";

const WAYS = [["the system's own calls", systemLook], ["what every system has", portableLook]] as const;

/** Opens a fresh folder with one of everything in it. */
function plant() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "portway-look-"));
  const at = (name: string) => path.join(folder, name);
  fs.writeFileSync(at("file 😀.txt"), "four");
  fs.writeFileSync(at("old"), "");
  fs.utimesSync(at("old"), -12.25, -12.25);
  fs.writeFileSync(at("large"), "");
  fs.truncateSync(at("large"), 5 * 2 ** 30);
  fs.writeFileSync(at("n".repeat(255)), "");
  fs.mkdirSync(at("folder"));
  fs.symlinkSync("file 😀.txt", at("link"));
  fs.symlinkSync("missing", at("dangling"));
  execFileSync("mkfifo", [at("fifo")]);
  const fd = fs.openSync(folder, "r");
  return {
    folder: { fd, path: folder },
    [Symbol.dispose]() {
      fs.closeSync(fd);
      fs.rmSync(folder, { recursive: true });
    },
  };
}

for (const [way, { lookIn }] of WAYS) {
  Deno.test(`lookIn by ${way} tells of every kind of entry what lstat tells, and null of none`, () => {
    using planted = plant();
    const { folder } = planted;
    for (const name of fs.readdirSync(folder.path)) {
      const stat = fs.lstatSync(path.join(folder.path, name));
      deepEqual(lookIn(folder, name), {
        isFile: stat.isFile(),
        isDirectory: stat.isDirectory(),
        isSymlink: stat.isSymbolicLink(),
        size: stat.size,
        modified: Math.floor(stat.mtimeMs),
      }, name);
    }
    for (const name of ["missing", "file 😀.txt/x", "n".repeat(256), "n".repeat(5000)]) {
      equal(lookIn(folder, name), null);
    }
  });
}

/** Whether the tests here are of the system's own calls, and not of what stands in for them. */
const IS_DIRECT = process.platform === "linux" && Deno.permissions.querySync({ name: "ffi" }).state === "granted";

Deno.test("openFolderCalls has the system's own calls where it may", () => {
  equal(openFolderCalls() !== null, IS_DIRECT);
  for (const os of ["windows", "darwin"]) equal(openFolderCalls(os), null);
});

Deno.test("readIn reads the beginning of plain files and nothing else", { ignore: !IS_DIRECT }, () => {
  using planted = plant();
  const read = (name: string, length: number) => {
    const into = new Uint8Array(length);
    const count = systemLook.readIn(planted.folder, name, into);
    return count === null ? null : new TextDecoder().decode(into.subarray(0, count));
  };
  deepEqual(["file 😀.txt", "old", "n".repeat(255)].map((name) => read(name, 100)), ["four", "", ""]);
  equal(read("file 😀.txt", 2), "fo");
  for (const name of ["link", "dangling", "fifo", "folder", "missing", "n".repeat(5000)]) {
    equal(read(name, 9), null, name);
  }
  const before = listOpen(planted.folder.path);
  for (const name of ["file 😀.txt", "fifo", "folder"]) read(name, 9);
  deepEqual(listOpen(planted.folder.path), before);
});

for (const [way, { listNames }] of WAYS) {
  Deno.test(`listNames by ${way} tells every name once`, () => {
    using planted = plant();
    const { folder } = planted;
    deepEqual(listNames(folder).sort(), fs.readdirSync(folder.path).sort());
    ok(listNames(folder).includes("link"));
  });
}

Deno.test("a share is the same without the system's own calls: listing, search and archive", async () => {
  using planted = plant();
  fs.writeFileSync(path.join(planted.folder.path, "folder", "inside.txt"), "inside");
  fs.truncateSync(path.join(planted.folder.path, "large"), 600_000);
  const { signal } = new AbortController();
  const seen = [];
  for (const [, look] of WAYS) {
    const root = openRoot({ path: planted.folder.path, hidden: false, look });
    const folder = root.openFolder([]);
    const listing = await listFolder(root, folder);
    folder.close();
    const { matches } = await searchNames(root, [], { query: "i", signal });
    const tar = await new Response(streamTar(root, [], { names: [], signal })).bytes();
    seen.push({ listing, matches, tar: createHash("sha256").update(tar).digest("hex") });
  }
  deepEqual(seen[0], seen[1]);
  deepEqual(seen[0].listing.map(({ name, kind }) => `${kind} ${name.slice(0, 12)}`), [
    "file file 😀.txt",
    "folder folder",
    "file large",
    "file link",
    "file nnnnnnnnnnnn",
    "file old",
  ]);
});
