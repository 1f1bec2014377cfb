import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openConnector } from "../../net/connection/mod.ts";
import { createRelease, createSigningKey, type ReleaseServer, startReleaseServer } from "./_release_server.ts";
import { findTarget, nameExecutable } from "./release_files.ts";
import { upgrade, type UpgradeContext } from "./upgrade.ts";

const SYSTEM = { platform: "linux", arch: "x64" } as const;
const name = (version: string) => nameExecutable(findTarget("linux", "x64")!, "node", version);
/** A program that prints a version, as an executable does. */
const program = (version: string) => `#!/bin/sh\necho ${version}\n`;
const KEY = createSigningKey();
const IS_WINDOWS = Deno.build.os === "windows";

interface Scene extends AsyncDisposable {
  readonly server: ReleaseServer;
  readonly file: string;
  readonly folder: string;
  readonly lines: string[];
  readonly stop: AbortController;
  readonly context: UpgradeContext;
}

/** A folder with version 1.2.3, and a server with version 1.10.0. */
async function openScene(change: Partial<UpgradeContext> = {}): Promise<Scene> {
  const server = await startReleaseServer(createRelease({ [name("1.10.0")]: program("1.10.0") }, KEY));
  const folder = mkdtempSync(join(tmpdir(), "portway-upgrade-")), file = join(folder, "portway");
  writeFileSync(file, program("1.2.3"), { mode: 0o755 });
  const lines: string[] = [], stop = new AbortController();
  return {
    server,
    file,
    folder,
    lines,
    stop,
    context: {
      ...SYSTEM,
      build: { version: "1.2.3", form: "node", releases: server.releases, key: KEY.publicKey },
      version: "1.2.3",
      installation: { kind: "executable", file, runtime: "node" },
      connect: openConnector(),
      signal: stop.signal,
      print: (line) => void lines.push(line),
      ...change,
    },
    async [Symbol.asyncDispose]() {
      rmSync(folder, { recursive: true });
      await server[Symbol.asyncDispose]();
    },
  };
}

/** The upgrade fails with a message of one line, and the folder is as before. */
async function assertFails({ context, folder, file }: Scene, message: RegExp): Promise<void> {
  await rejects(upgrade(context, { check: false }), (error) => {
    return error instanceof Error && !error.message.includes("\n") && message.test(error.message);
  });
  deepEqual(readdirSync(folder), ["portway"]);
  equal(readFileSync(file, "utf8"), program("1.2.3"));
}

Deno.test({
  name: "upgrade replaces the program after it verified signature and checksum, and keeps the old one",
  ignore: IS_WINDOWS,
  async fn() {
    await using scene = await openScene();
    writeFileSync(join(scene.folder, ".portway-upgrade-1-portway"), "left by a killed upgrade");
    equal(await upgrade(scene.context, { check: false }), 0);
    equal(spawnSync(scene.file, { encoding: "utf8" }).stdout, "1.10.0\n");
    deepEqual(readdirSync(scene.folder).sort(), ["portway", "portway.old"]);
    equal(spawnSync(`${scene.file}.old`, { encoding: "utf8" }).stdout, "1.2.3\n");
    equal(scene.lines[0], "portway 1.2.3 runs here; the newest release is 1.10.0");
    match(scene.lines.at(-1) ?? "", /is now 1\.10\.0, with a verified signature and checksum; 1\.2\.3 remains as /);
  },
});

Deno.test("upgrade --check and the newest release change no file", async () => {
  await using scene = await openScene();
  equal(await upgrade(scene.context, { check: true }), 0);
  for (const version of ["1.10.0", "1.11.0"]) equal(await upgrade({ ...scene.context, version }, { check: false }), 0);
  deepEqual(scene.lines.slice(1), ["portway 1.10.0 is the newest release", "portway 1.11.0 is the newest release"]);
  deepEqual(readdirSync(scene.folder), ["portway"]);
});

Deno.test("upgrade trusts no checksums that another key signed, or that changed", async () => {
  await using scene = await openScene();
  const { files } = scene.server;
  const sums = files.get("SHA256SUMS")!;
  files.set("SHA256SUMS", sums.replace("1.10.0", "1.11.0"));
  await assertFails(scene, /^cannot trust http:\S+SHA256SUMS: the signature is for another file$/);
  files.set("SHA256SUMS", sums);
  files.set("SHA256SUMS.minisig", "no signature");
  await assertFails(scene, /^cannot trust http:\S+SHA256SUMS: the signature file is damaged$/);
  for (const [file, text] of createRelease({ [name("1.10.0")]: program("1.10.0") }, createSigningKey())) {
    files.set(file, text);
  }
  await assertFails(scene, /^cannot trust http:\S+SHA256SUMS: another key made the signature$/);
});

Deno.test("upgrade rejects a damaged download, and leaves nothing of it", async () => {
  await using scene = await openScene();
  scene.server.files.set(name("1.10.0"), `${program("1.10.0")}# damaged\n`);
  await assertFails(scene, /^cannot trust portway-1\.10\.0-\S+: its SHA-256 is \w{64}, and the release has \w{64}$/);
});

Deno.test("upgrade reports a download that breaks off, and leaves nothing of it", async () => {
  await using scene = await openScene();
  scene.server.handle = (file, response) => {
    if (!file.startsWith("portway-")) return false;
    response.writeHead(200, { "content-length": 1000 });
    response.write("half", () => response.destroy());
    return true;
  };
  await assertFails(scene, /^cannot download http:\S+: /);
});

Deno.test("upgrade that is interrupted amid the download leaves nothing of it", async () => {
  await using scene = await openScene();
  const begun = Promise.withResolvers<ServerResponse>();
  scene.server.handle = (file, response) => {
    if (!file.startsWith("portway-")) return false;
    response.writeHead(200, { "content-length": 1000 });
    response.write("half", () => begun.resolve(response));
    return true;
  };
  const failed = assertFails(scene, /^the upgrade was interrupted, and changed no file$/);
  await begun.promise;
  scene.stop.abort();
  await failed;
});

Deno.test({
  name: "upgrade does not install a program that prints another version, or does not run",
  ignore: IS_WINDOWS,
  async fn() {
    await using scene = await openScene();
    for (const text of [program("1.9.0"), "#!/nowhere\n"]) {
      for (const [file, content] of createRelease({ [name("1.10.0")]: text }, KEY)) {
        scene.server.files.set(file, content);
      }
      await assertFails(scene, /^cannot run portway-1\.10\.0-\S+ here: /);
    }
  },
});

Deno.test("upgrade names the reason when there is no release for it", async () => {
  await using scene = await openScene();
  const { context } = scene;
  await assertFails(
    { ...scene, context: { ...context, arch: "riscv64" } },
    /^cannot upgrade: no release is for linux riscv64$/,
  );
  await assertFails(
    { ...scene, context: { ...context, arch: "arm64" } },
    /has no executable for aarch64-unknown-linux-gnu$/,
  );
  const build = { ...context.build, releases: null, key: null };
  await assertFails(
    { ...scene, context: { ...context, build } },
    /^cannot upgrade: this build names no server with releases$/,
  );
  scene.server.files.clear();
  await assertFails(scene, /^cannot download \S+SHA256SUMS: the server responded with 404$/);
});

Deno.test("upgrade of another tool's installation names its command", async () => {
  await using scene = await openScene();
  const installation = { kind: "managed", by: "Homebrew", command: "brew upgrade portway" } as const;
  const context = { ...scene.context, installation };
  await assertFails(
    { ...scene, context },
    /^cannot replace this program, because it comes from Homebrew; upgrade it with: brew upgrade portway$/,
  );
});

Deno.test("upgrade stops at the size limit of the checksums", async () => {
  await using scene = await openScene();
  scene.server.files.set("SHA256SUMS", Buffer.alloc(70_000, "a").toString());
  await assertFails(scene, /^cannot download \S+SHA256SUMS: it has more than 65536 bytes$/);
});
