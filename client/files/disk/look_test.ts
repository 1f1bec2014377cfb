import { deepEqual, equal, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { openFolderCalls } from "./deno.ts";
import { listNames, lookIn, readIn } from "./look.ts";

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

Deno.test("lookIn tells of every kind of entry what lstat tells, and null of none", () => {
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
  for (const name of ["missing", "file 😀.txt/x", "n".repeat(256), "n".repeat(5000)]) equal(lookIn(folder, name), null);
});

/** Whether the tests here are of the system's own calls, and not of what stands in for them. */
const IS_DIRECT = process.platform === "linux" && Deno.permissions.querySync({ name: "ffi" }).state === "granted";

Deno.test("openFolderCalls has the system's own calls where it may", () => {
  equal(openFolderCalls() !== null, IS_DIRECT);
});

Deno.test("readIn reads the beginning of plain files and nothing else", { ignore: !IS_DIRECT }, () => {
  using planted = plant();
  const read = (name: string, length: number) => {
    const into = new Uint8Array(length);
    const count = readIn(planted.folder, name, into);
    return count === null ? null : new TextDecoder().decode(into.subarray(0, count));
  };
  deepEqual(["file 😀.txt", "old", "n".repeat(255)].map((name) => read(name, 100)), ["four", "", ""]);
  equal(read("file 😀.txt", 2), "fo");
  for (const name of ["link", "dangling", "fifo", "folder", "missing", "n".repeat(5000)]) {
    equal(read(name, 9), null, name);
  }
  const before = fs.readdirSync("/proc/self/fd").length;
  for (const name of ["file 😀.txt", "fifo", "folder"]) read(name, 9);
  equal(fs.readdirSync("/proc/self/fd").length, before);
});

Deno.test("listNames tells every name once", () => {
  using planted = plant();
  const { folder } = planted;
  deepEqual(listNames(folder).sort(), fs.readdirSync(folder.path).sort());
  ok(listNames(folder).includes("link"));
});
