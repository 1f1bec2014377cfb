import { deepEqual, equal, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { openLookIn } from "./deno.ts";
import { listNames, lookIn } from "./look.ts";

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

Deno.test("openLookIn has the system's own look where it may, so that the test above is of it", () => {
  const isPermitted = Deno.permissions.querySync({ name: "ffi" }).state === "granted";
  equal(openLookIn() !== null, isPermitted && process.platform === "linux");
});

Deno.test("listNames tells every name once", () => {
  using planted = plant();
  const { folder } = planted;
  deepEqual(listNames(folder).sort(), fs.readdirSync(folder.path).sort());
  ok(listNames(folder).includes("link"));
});
