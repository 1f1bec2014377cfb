/** What visitors do to files that another program has open, as Windows lets nobody. */
import { deepEqual, equal } from "node:assert/strict";
import fs from "node:fs";
import { listNames, openTestShare } from "./_test_share.ts";
import { type DiskSystem, thisSystem } from "./disk/system.ts";
import { createFileShare } from "./share.ts";

const WINDOWS: DiskSystem = { ...thisSystem, platform: "win32", hasDescriptorPaths: false };

/** Has the system refuse renames, or removals, that `isHeld` takes, so many times. */
function hold(
  code: string,
  times: number,
  isHeld: (from: string, to: string) => boolean,
): Disposable & { left: number } {
  const { renameSync, rmSync, promises: { rm } } = fs;
  const state = { left: times };
  const refuse = (from: unknown, to: unknown = "") => {
    if (state.left === 0 || !isHeld(String(from), String(to))) return;
    state.left--;
    throw Object.assign(new Error(`${code}: held`), { code });
  };
  fs.renameSync = (from, to) => {
    refuse(from, to);
    renameSync(from, to);
  };
  fs.rmSync = (path, options) => {
    refuse(path);
    rmSync(path, options);
  };
  fs.promises.rm = async (path, options) => {
    refuse(path);
    await rm(path, options);
  };
  return {
    get left() {
      return state.left;
    },
    [Symbol.dispose]() {
      fs.renameSync = renameSync;
      fs.rmSync = rmSync;
      fs.promises.rm = rm;
    },
  };
}

const CHANGES: readonly [name: string, target: string, init: RequestInit, left: string[]][] = [
  ["deleted", "/held.txt", { method: "DELETE" }, ["folder/", "other.txt"]],
  ["moved", "/held.txt?move=/new.txt", { method: "POST" }, ["folder/", "new.txt", "other.txt"]],
  ["moved by WebDAV", "/held.txt", { method: "MOVE", headers: { destination: "/new.txt" } }, [
    "folder/",
    "new.txt",
    "other.txt",
  ]],
  ["moved over a folder", "/held.txt", { method: "MOVE", headers: { destination: "/folder" } }, [
    "folder",
    "other.txt",
  ]],
  ["replaced by a copy", "/other.txt", { method: "COPY", headers: { destination: "/held.txt" } }, [
    "folder/",
    "held.txt",
    "other.txt",
  ]],
  ["put into the trash", "/held.txt?trash", { method: "POST" }, ["folder/", "other.txt"]],
];

for (const code of ["EPERM", "EACCES", "EBUSY"]) {
  for (const [name, target, init, left] of CHANGES) {
    Deno.test(`a file that a program has open for a moment (${code}) is ${name} on Windows`, async () => {
      await using share = openTestShare({ writable: true, system: WINDOWS });
      for (const file of ["held.txt", "other.txt", "folder/in.txt"]) share.write(file, file);
      using held = hold(code, 2, (from, to) => `${from} ${to}`.includes("held.txt"));
      const { status } = await share.ask(target, init);
      deepEqual([status < 300, held.left], [true, 0], `${status}`);
      deepEqual((await listNames(share)).sort(), left);
    });
  }
}

for (const [name, target, init] of CHANGES) {
  Deno.test(`a file that a program keeps open is not ${name}, and stays`, async () => {
    await using share = openTestShare({ writable: true, system: WINDOWS });
    for (const file of ["held.txt", "other.txt", "folder/in.txt"]) share.write(file, file);
    using _ = hold("EPERM", 1000, (from, to) => `${from} ${to}`.includes("held.txt"));
    equal((await share.ask(target, init)).status, 403);
    deepEqual((await listNames(share)).sort(), ["folder/", "held.txt", "other.txt"]);
    deepEqual([share.read("held.txt"), share.read("folder/in.txt")], ["held.txt", "folder/in.txt"]);
  });
}

for (
  const [left, isHeld] of [
    ["in part", (_: string, to: string) => to === ""],
    ["as it was", (_: string, to: string) => to !== ""],
  ] as const
) {
  Deno.test(`a folder with a file that a program keeps open stays ${left}, and who deletes it is told`, async () => {
    await using share = openTestShare({ writable: true, system: WINDOWS });
    for (const file of ["folder/in.txt", "folder/held.txt"]) share.write(file, file);
    using _ = hold("EPERM", 1000, isHeld);
    const refused = await share.ask("/folder/", { method: "DELETE", headers: { accept: "application/json" } });
    equal(refused.status, 403);
    const { message } = (await refused.json()).error;
    equal(message.startsWith("The system does not permit this"), true, message);
    equal(message.includes("Some of what was in it may be gone."), left === "in part", message);
    deepEqual(await listNames(share), ["folder/"]);
  });
}

Deno.test("elsewhere what the system refuses is refused at once", async () => {
  await using share = openTestShare({ writable: true, system: { ...thisSystem, platform: "linux" } });
  share.write("held.txt", "held");
  using held = hold("EPERM", 1, () => true);
  equal((await share.ask("/held.txt", { method: "DELETE" })).status, 403);
  equal(held.left, 0);
  equal(share.read("held.txt"), "held");
});

Deno.test("what is put back from the trash waits for a program that has it open", async () => {
  await using share = openTestShare({ writable: true, system: WINDOWS });
  share.write("a.txt", "a");
  const { id } = await (await share.ask("/a.txt?trash", { method: "POST" })).json();
  using held = hold("EBUSY", 2, (_, to) => to.endsWith("a.txt"));
  equal((await share.ask(`/?restore=${id}`, { method: "POST" })).status, 200);
  deepEqual([share.read("a.txt"), held.left], ["a", 0]);
});

Deno.test("what is moved aside and cannot be removed for a moment is removed all the same", async () => {
  await using share = openTestShare({ writable: true, system: WINDOWS });
  share.write("folder/in.txt", "x");
  share.write("other.txt", "other");
  const isRemoval = (_: string, to: string) => to === "";
  {
    using held = hold("EBUSY", 2, isRemoval);
    equal((await share.ask("/folder", { method: "DELETE" })).status, 204);
    equal(held.left, 0);
  }
  share.write("folder/in.txt", "x");
  using _ = hold("EBUSY", 1000, isRemoval);
  equal((await share.ask("/other.txt", { method: "MOVE", headers: { destination: "/folder" } })).status, 204);
  deepEqual(await listNames(share), ["folder"]);
});

Deno.test("a copy that is not wanted is told so, whoever has it open", async () => {
  await using share = openTestShare({ writable: true, system: WINDOWS });
  for (const file of ["a.txt", "b.txt"]) share.write(file, file);
  const headers = { destination: "/b.txt", overwrite: "F" };
  for (const times of [2, 1000]) {
    using _ = hold("EBUSY", times, (path, to) => to === "" && path.includes(".portway"));
    equal((await share.ask("/a.txt", { method: "COPY", headers })).status, 412);
  }
  deepEqual([(await listNames(share)).sort(), share.read("b.txt")], [["a.txt", "b.txt"], "b.txt"]);
});

Deno.test("an upload is done, and forgotten, whoever has open what was kept of it", async () => {
  await using share = openTestShare({ writable: true, system: WINDOWS });
  const put = (path: string, range: string, body: string) =>
    share.ask(path, { method: "PUT", headers: { "content-range": `bytes ${range}/8` }, body });
  for (const path of ["/a.bin?upload", "/b.bin?upload"]) equal((await put(path, "0-3", "half")).status, 202);
  using _ = hold("EBUSY", 1000, (path, to) => to === "" && path.includes(".portway"));
  equal((await put("/a.bin?upload", "4-7", "more")).status, 201);
  equal((await share.ask("/b.bin?upload", { method: "DELETE" })).status, 204);
  deepEqual([await listNames(share), share.read("a.bin")], [["a.bin"], "halfmore"]);
  equal((await share.ask("/b.bin?upload", { method: "HEAD" })).headers.get("upload-offset"), "0");
});

Deno.test("a share that ends waits for what has its scratch files open, and one that begins goes on without", async () => {
  const share = openTestShare({ writable: true, system: WINDOWS });
  const part = { method: "PUT", headers: { "content-range": "bytes 0-3/8" }, body: "half" };
  equal((await share.ask("/a.bin?upload", part)).status, 202);
  {
    using held = hold("EBUSY", 2, (path) => path.includes(".portway"));
    await share.target.close();
    equal(held.left, 0);
  }
  deepEqual(fs.readdirSync(share.path), []);
  await using next = openTestShare({ writable: true, system: WINDOWS });
  equal((await next.ask("/a.bin?upload=one", part)).status, 202);
  await next.target.close();
  for (const note of fs.readdirSync(next.path, { recursive: true, encoding: "utf8" })) {
    if (note.endsWith(".note")) fs.rmSync(`${next.path}/${note}`);
  }
  const left = fs.readdirSync(next.path);
  equal(left.length, 1);
  {
    using _ = hold("EBUSY", 1000, (path) => path.includes(left[0]));
    await createFileShare({ path: next.path, writable: true, system: WINDOWS }).close();
  }
  deepEqual(fs.readdirSync(next.path), left);
  await createFileShare({ path: next.path, writable: true, system: WINDOWS }).close();
  deepEqual(fs.readdirSync(next.path), []);
});

Deno.test("a share ends although something keeps open what it has out of sight", async () => {
  await using share = openTestShare({ writable: true, system: WINDOWS });
  share.write("a.txt", "a");
  equal((await share.ask("/a.txt?trash", { method: "POST" })).status, 200);
  using _ = hold("EBUSY", 1000, (path) => path.includes(".portway"));
  await share.target.close();
  equal(fs.readdirSync(share.path).length, 1);
});
