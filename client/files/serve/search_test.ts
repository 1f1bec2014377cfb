import { deepEqual, equal, ok } from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { openTestShare, type TestShare } from "../_test_share.ts";
import { openRoot } from "../disk/root.ts";
import { walk } from "./search.ts";

function link(share: TestShare, name: string, to: string): void {
  fs.symlinkSync(to, path.join(share.path, name));
}

function listWalk(share: TestShare, start: readonly string[] = []): string[] {
  const found = [...walk(openRoot({ path: share.path, hidden: false }), start)];
  return found.filter((entry) => entry !== null).map(({ path }) => path);
}

Deno.test("walk finds all that is in a folder, whatever links to it come before it", async () => {
  await using share = openTestShare();
  share.write("v1/a.txt", "a");
  share.write("v2/deep/b.txt", "b");
  link(share, "latest", "v2");
  link(share, "stable", "v2/deep");
  const files = listWalk(share).filter((name) => name.endsWith(".txt"));
  // What no link leads to comes first.
  deepEqual(files, ["v1/a.txt", "v2/deep/b.txt", "stable/b.txt", "latest/deep/b.txt"]);
  deepEqual(listWalk(share, ["latest"]), ["deep", "deep/b.txt"]);
  const { matches } = await (await share.ask("/?search=v2+b")).json();
  deepEqual(matches.map(({ name }: { name: string }) => name), ["v2/deep/b.txt"]);
});

Deno.test("walk follows no link to a folder that it lies in, and ends where folders link to each other", async () => {
  await using share = openTestShare();
  share.write("x/a.txt", "a");
  share.write("y/b.txt", "b");
  link(share, "x/up", "..");
  link(share, "x/other", "../y");
  link(share, "y/other", "../x");
  deepEqual(listWalk(share).filter((name) => name.endsWith(".txt")).sort(), [
    "x/a.txt",
    "x/other/b.txt",
    "y/b.txt",
    "y/other/a.txt",
  ]);
});

Deno.test("walk enters folders a second time only so often, and each of them once", async () => {
  await using share = openTestShare();
  const names = Array.from({ length: 12 }, (_, index) => `folder-${index}`);
  for (const name of names) share.write(`${name}/file.txt`, "");
  for (const name of names) {
    for (const other of names) if (other !== name) link(share, `${name}/${other}`, `../${other}`);
  }
  const files = listWalk(share).filter((name) => name.endsWith(".txt"));
  deepEqual(files.slice(0, names.length).sort(), names.map((name) => `${name}/file.txt`).sort());
  ok(files.length > names.length);
  equal(files.length, names.length + 1000);
});
