import { equal, ok, throws } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { HttpError } from "../../../common/http_error.ts";
import { openTestShare, type TestShare } from "../_test_share.ts";
import { openRoot } from "./root.ts";
import { type DiskSystem, thisSystem } from "./system.ts";

/** Links and special files of every kind, in a share with `inside.txt` and `folder/`. */
function plant(share: TestShare): void {
  share.write("inside.txt", "inside");
  share.write("folder/deep.txt", "deep");
  const link = (target: string, name: string) => fs.symlinkSync(target, path.join(share.path, name));
  link("inside.txt", "good-file");
  link("folder", "good-folder");
  link("good-file", "good-chain");
  link("../outside", "out-folder");
  link("../outside/secret.txt", "out-file");
  link(path.join(share.outside, "secret.txt"), "out-absolute");
  link("out-file", "out-chain");
  link("../outside/missing", "out-dangling");
  link("missing", "dangling");
  link("circle", "circle");
  link("..", "parent");
  link("/", "slash");
  link("../shared-sibling", "sibling");
  fs.mkdirSync(`${share.path}-sibling`);
  fs.writeFileSync(`${share.path}-sibling/secret.txt`, "secret");
  execFileSync("mkfifo", [path.join(share.path, "fifo")]);
  link("/dev/zero", "device");
}

const OUTSIDE = [
  "out-folder",
  "out-folder/secret.txt",
  "out-file",
  "out-absolute",
  "out-chain",
  "out-dangling",
  "dangling",
  "circle",
  "parent",
  "parent/outside/secret.txt",

  "slash/etc/passwd",
  "sibling/secret.txt",
  "fifo",
  "device",
];

Deno.test("share follows links that stay inside and shows none that lead out", async () => {
  await using share = openTestShare({ writable: true });
  plant(share);
  equal(await (await share.ask("/good-file")).text(), "inside");
  equal(await (await share.ask("/good-chain")).text(), "inside");
  equal(await (await share.ask("/good-folder/deep.txt")).text(), "deep");
  const names = (await (await share.ask("/")).text()).split("\n");
  for (const name of ["good-file", "good-folder/", "good-chain", "inside.txt"]) ok(names.includes(name), name);
  for (const name of OUTSIDE) ok(!names.includes(name) && !names.includes(`${name}/`), name);
});

/** As it is where no path leads through a descriptor, and this system. */
const SYSTEMS: Readonly<Record<string, DiskSystem>> = {
  "": thisSystem,
  ", by real paths as on macOS": { ...thisSystem, platform: "darwin", hasDescriptorPaths: false },
  ", by real paths as on Windows": { ...thisSystem, platform: "win32", hasDescriptorPaths: false },
};

for (
  const [name, [how, system]] of OUTSIDE.flatMap((name) => Object.entries(SYSTEMS).map((way) => [name, way] as const))
) {
  Deno.test(`share refuses ${name} on every route${how}`, async () => {
    await using share = openTestShare({ writable: true, system });
    plant(share);
    const init = { body: "x", method: "PUT" };
    for (const target of [`/${name}`, `/${name}/`, `/${name}?download`, `/${name}/?zip`, `/${name}/?search=s`]) {
      equal((await share.ask(target)).status, 404, target);
      equal((await share.ask(target, { method: "HEAD" })).status, 404, target);
    }
    const answers = [
      await share.ask(`/${name}`, init),
      await share.ask(`/${name}/new.txt`, init),
      await share.ask(`/${name}/new`, { method: "MKCOL" }),
      await share.ask(`/${name}`, { method: "DELETE" }),
      await share.ask(`/${name}/secret.txt`, { method: "DELETE" }),
      await share.ask(`/${name}?move=/moved`, { method: "POST" }),
      await share.ask(`/${name}/secret.txt?move=/moved`, { method: "POST" }),
      await share.ask(`/inside.txt?move=/${name}/moved`, { method: "POST" }),
      await share.ask(`/inside.txt?move=/${name}&overwrite`, { method: "POST" }),
    ];
    for (const [index, response] of answers.entries()) {
      ok([403, 404, 409].includes(response.status), `${name} #${index}: ${response.status}`);
    }
    equal(fs.readFileSync(path.join(share.outside, "secret.txt"), "utf8"), "secret");
    equal(fs.readdirSync(share.outside).length, 1);
    equal(share.read("inside.txt"), "inside");
    ok(!fs.existsSync(path.join(share.path, "moved")));
  });
}

for (const [how, system] of Object.entries(SYSTEMS)) {
  Deno.test(`share says of a file that something is to be put into that it is no folder${how}`, async () => {
    await using share = openTestShare({ writable: true, system });
    share.write("file.txt", "whole");
    equal((await share.ask("/file.txt/")).status, 404);
    equal((await share.ask("/file.txt/below")).status, 404);
    for (
      const [method, target] of [["PUT", "/file.txt/below"], ["PUT", "/file.txt/a/b"], ["MKCOL", "/file.txt/below"]]
    ) {
      const answer = await share.ask(target, { method, body: method === "PUT" ? "x" : undefined });
      equal(`${answer.status} ${answer.headers.get("portway-error")}`, "409 parent_is_file", `${method} ${target}`);
    }
    equal(share.read("file.txt"), "whole");
  });
}

Deno.test("share never opens sockets", async () => {
  await using share = openTestShare();
  const socket = path.join(share.path, "socket");
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  try {
    equal((await share.ask("/socket")).status, 404);
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
});

Deno.test("share never leaves its folder while a link is swapped under it", async () => {
  await using share = openTestShare({ writable: true });
  share.write("real/secret.txt", "inside");
  const swapping = startSwapping(share);
  try {
    for (let round = 0; round < 400; round++) {
      const body = await (await share.ask("/spot/secret.txt")).text();
      ok(body === "inside" || body.includes("not_found") || body.includes("too_many"), body);
      const names = await (await share.ask("/spot/?simple")).text();
      ok(!names.includes("only-outside"), names);
      await share.ask(`/spot/written-${round % 5}.txt`, { method: "PUT", body: "x" });
      await share.ask(`/spot/made-${round % 5}/`, { method: "MKCOL" });
      await share.ask("/spot/only-outside", { method: "DELETE" });
      await share.ask("/spot/only-outside?move=/taken", { method: "POST" });
      for (const target of ["/?zip", "/spot/?zip", "/?zip&name=spot&name=file", "/file", "/?search=only"]) {
        const content = await (await share.ask(target)).text();
        ok(!/from outside|only-outside/.test(content), target);
      }
    }
  } finally {
    await swapping.stop();
  }
  equal(fs.readdirSync(share.outside).sort().join(), "only-outside,secret.txt");
});

/**
 * A process that turns `spot` into a folder of the share, then into a link that leads out, and so on; and `file` into
 * a file of the share, then into a link to one outside.
 */
function startSwapping(share: TestShare): { stop(): Promise<void> } {
  fs.writeFileSync(path.join(share.outside, "only-outside"), "");
  fs.writeFileSync(path.join(share.outside, "secret.txt"), "from outside");
  const program = `
import os,sys,time
shared,outside,parent=sys.argv[1],sys.argv[2],os.getppid()
os.symlink('real',shared+'/a'); os.symlink(outside,shared+'/b')
while os.getppid()==parent:
  for name in 'ab':
    os.symlink('real' if name=='a' else outside, shared+'/.swap')
    os.rename(shared+'/.swap',shared+'/spot')
    if name=='a': open(shared+'/.swap','w').write('inside')
    else: os.symlink(outside+'/secret.txt', shared+'/.swap')
    os.rename(shared+'/.swap',shared+'/file')
`;
  const child = new Deno.Command("python3", { args: ["-c", program, share.path, share.outside] }).spawn();
  while (!fs.existsSync(path.join(share.path, "file")));
  return {
    async stop() {
      child.kill("SIGKILL");
      // What it was about to make would be in the way of the folder's removal.
      await child.status;
    },
  };
}

Deno.test("openRoot refuses what is neither a file nor a folder and what is missing", () => {
  throws(() => openRoot({ path: "/dev/null", hidden: false }), TypeError);
  throws(() => openRoot({ path: path.join(os.tmpdir(), "portway-missing"), hidden: false }), { code: "ENOENT" });
});

Deno.test(
  "openRoot shares the root of the file system as any other folder",
  { ignore: os.platform() === "win32" },
  () => {
    const root = openRoot({ path: "/", hidden: false });
    const opened = root.open(["etc"]);
    equal(opened.kind, "folder");
    opened.close();
    throws(() => root.open(["missing-in-root"]), (error) => error instanceof HttpError && error.status === 404);
  },
);

Deno.test("readEntry reads a plain file or a link that stays inside, and nothing else that was put in its place", async () => {
  await using share = openTestShare();
  plant(share);
  const root = openRoot({ path: share.path, hidden: false });
  const folder = root.openFolder([]);
  try {
    const read = (name: string) => {
      const into = new Uint8Array(20);
      return new TextDecoder().decode(into.subarray(0, root.readEntry(folder, name, into)));
    };
    equal(read("inside.txt"), "inside");
    equal(read("good-chain"), "inside");
    for (const name of [...OUTSIDE.filter((name) => !name.includes("/")), "folder", "good-folder", "missing"]) {
      throws(() => read(name), name);
    }
  } finally {
    folder.close();
  }
});
