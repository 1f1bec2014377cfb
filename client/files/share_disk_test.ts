import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { listNames, openTestShare, type TestShare } from "./_test_share.ts";

function put(share: TestShare, target: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  return share.ask(target, { method: "PUT", body, headers });
}

/** Mounts another file system at a new folder. Throws where the system does not let us. */
function mount(folder: string, options = "size=1m"): Disposable {
  fs.mkdirSync(folder, { recursive: true });
  execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", folder], { stdio: "ignore" });
  return { [Symbol.dispose]: () => void execFileSync("umount", [folder]) };
}

/** A disk of its own at a fresh folder, both gone at the end. */
function openDisk(options: string): { path: string } & Disposable {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "portway-disk-"));
  const disk = mount(folder, options);
  return {
    path: folder,
    [Symbol.dispose]() {
      disk[Symbol.dispose]();
      fs.rmdirSync(folder);
    },
  };
}

function canMount(): boolean {
  const base = fs.mkdtempSync(path.join(os.tmpdir(), "portway-mount-"));
  try {
    mount(path.join(base, "disk"))[Symbol.dispose]();
    return true;
  } catch {
    return false;
  } finally {
    fs.rmSync(base, { recursive: true });
  }
}

const MOUNTED = "PUT reaches a file system that is mounted below the share; the mount itself stays";

Deno.test(MOUNTED, { ignore: !canMount() }, async () => {
  await using share = openTestShare({ writable: true });
  using _disk = mount(path.join(share.path, "disk"));
  equal((await put(share, "/disk/new/a.txt", "one")).status, 201);
  const replaced = await put(share, "/disk/new/a.txt", "two");
  deepEqual([replaced.status, share.read("disk/new/a.txt")], [200, "two"]);
  equal(replaced.headers.get("etag"), (await share.ask("/disk/new/a.txt")).headers.get("etag"));
  equal((await put(share, "/disk/new/a.txt", "three", { "if-none-match": "*" })).status, 412);
  equal((await put(share, "/disk/large", "x".repeat(2_000_000))).status, 507);
  deepEqual(fs.readdirSync(path.join(share.path, "disk"), { recursive: true }), ["new", "new/a.txt"]);
  const ask = async (target: string, method: string) => {
    const response = await share.ask(target, { method });
    return [response.status, response.headers.get("portway-error")];
  };
  deepEqual(await ask("/disk", "DELETE"), [409, "in_use"]);
  deepEqual(await ask("/disk?move=moved", "POST"), [409, "in_use"]);
  deepEqual(await ask("/disk/new?move=/new", "POST"), [409, "other_file_system"]);
  equal(share.read("disk/new/a.txt"), "two");
  deepEqual(await ask("/disk/new", "DELETE"), [204, null]);
});

Deno.test("DELETE puts back what is left of a folder that cannot be removed", { ignore: !canMount() }, async () => {
  await using share = openTestShare({ writable: true });
  share.write("folder/a.txt", "a");
  const disk = path.join(share.path, "folder", "disk");
  using _disk = mount(disk);
  const response = await share.ask("/folder", { method: "DELETE" });
  deepEqual([response.status, response.headers.get("portway-error")], [409, "in_use"]);
  ok(fs.existsSync(disk));
  deepEqual(await listNames(share), ["folder/"]);
});

Deno.test("DELETE works on a disk that has no room for anything more", { ignore: !canMount() }, async () => {
  // A file system of so many files and folders, its own root among them.
  using disk = openDisk("nr_inodes=6");
  const folder = disk.path;
  await using share = openTestShare({ path: folder, writable: true });
  fs.mkdirSync(path.join(folder, "folder"));
  for (const name of ["a", "b", "folder/c", "d"]) fs.writeFileSync(path.join(folder, name), "");
  throws(() => fs.writeFileSync(path.join(folder, "e"), ""), /ENOSPC/);
  equal((await share.ask("/folder", { method: "DELETE" })).status, 204);
  equal((await share.ask("/a", { method: "DELETE" })).status, 204);
  deepEqual(await listNames(share), ["b", "d"]);
});

const WRITABLE_BELOW = "share whose own folder is read-only takes uploads and deletes in one below it that is not";

Deno.test(WRITABLE_BELOW, { ignore: !canMount() }, async () => {
  using shared = openDisk("size=1m");
  const folder = shared.path;
  for (const name of ["inbox", "closed"]) fs.mkdirSync(path.join(folder, name), { recursive: true });
  using _inbox = mount(path.join(folder, "inbox"));
  execFileSync("mount", ["-o", "remount,ro", folder]);
  const inbox = path.join(folder, "inbox");
  await using share = openTestShare({ path: folder, writable: true });
  const first = await put(share, "/inbox/new/a.bin", "abc", { "content-range": "bytes 0-2/6" });
  equal(first.status, 202);
  equal((await put(share, "/inbox/new/a.bin", "def", { "content-range": "bytes 3-5/6" })).status, 201);
  equal((await put(share, "/inbox/b.txt", "b")).status, 201);
  equal((await share.ask("/inbox/new", { method: "DELETE" })).status, 204);
  deepEqual(await listNames(share, "/inbox/"), ["b.txt"]);
  for (const target of ["/a.txt", "/closed/a.txt", "/missing/a.txt"]) {
    const refused = await put(share, target, "x");
    deepEqual([refused.status, refused.headers.get("portway-error")], [403, "not_permitted"], target);
  }
  equal((await share.ask("/closed", { method: "DELETE" })).status, 403);
  equal((await put(share, "/inbox/large", "x".repeat(2_000_000))).status, 507);
  await share.target.close();
  deepEqual(fs.readdirSync(inbox), ["b.txt"]);
});

const FULL = "a full disk gets space from the oldest trash before a write is refused, and keeps newer trash";

Deno.test(FULL, { ignore: !canMount() }, async () => {
  using disk = openDisk("size=1m");
  await using share = openTestShare({ path: disk.path, writable: true });
  const third = "x".repeat(300_000);
  for (const name of ["a", "b", "c"]) equal((await put(share, `/${name}`, third)).status, 201);
  const trash = async (name: string) => equal((await share.ask(`/${name}?trash`, { method: "POST" })).status, 200);
  for (const name of ["a", "b", "c"]) await trash(name);
  equal((await put(share, "/known-length", third)).status, 201);
  deepEqual(await listTrash(share), ["/c", "/b"]);
  const body = new Blob([third]).stream();
  equal((await share.ask("/unknown-length", { method: "PUT", body })).status, 201);
  deepEqual(await listTrash(share), ["/c"]);
  const copy = await share.ask("/known-length", { method: "COPY", headers: { destination: "/copy" } });
  equal(copy.status, 201);
  deepEqual(await listTrash(share), []);
  deepEqual(await listNames(share), ["copy", "known-length", "unknown-length"]);
  equal((await put(share, "/too-large", third)).status, 507);
});

/** Paths in the trash, the newest first. */
async function listTrash(share: TestShare): Promise<string[]> {
  const { items } = await (await share.ask("/?trash")).json();
  return items.map(({ path }: { path: string }) => path);
}
