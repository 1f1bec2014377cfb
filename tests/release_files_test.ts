/** The texts of a release: the installer against a local server, the formula, the manifest and the workflow. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { nameExecutable, TARGETS } from "../client/upgrade/mod.ts";
import { renderFormula, renderInstaller, renderScoopManifest } from "../scripts/release_files.ts";
import { isThere, makeTempDir } from "./kit.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const VERSION = "1.2.3", KEY = "RWSg+l5cdETDZPE1cIrm1wzFh9oA7LfGRmySW17ECEpkTLui7LJrE76y";
const RELEASES = "https://github.com/example/portway/releases";
const sums = new Map(TARGETS.map((target) => [nameExecutable(target, "deno", VERSION), sha256(target)]));
const release = { version: VERSION, releases: RELEASES, key: KEY, sums };

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** A local server with the files of a release, and a shell that runs the installer against it. */
async function openInstaller(files: Map<string, string>) {
  const folder = await makeTempDir(), asked: string[] = [];
  const server = createServer((request, response) => {
    const [, path, name] = /^\/(latest\/download|download\/v[\d.]+)\/(.*)$/.exec(request.url ?? "") ?? [];
    asked.push(`${path}/${name}`);
    const text = files.get(name);
    response.writeHead(text === undefined ? 404 : 200).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const script = join(folder.path, "install.sh"), bin = join(folder.path, "bin");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await writeFile(script, renderInstaller({ releases: url, key: KEY }));
  return {
    asked,
    bin,
    folder: folder.path,
    async run(env: Record<string, string> = {}) {
      const { code, stdout, stderr } = await new Deno.Command("sh", {
        args: [script],
        clearEnv: true,
        env: { PATH: await withoutMinisign(folder.path), HOME: folder.path, PORTWAY_BIN: bin, ...env },
        stdin: "null",
      }).output();
      const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
      return { code, output: decode(stdout), errors: decode(stderr) };
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** A folder with the programs that the installer needs, so that a test chooses the others. */
async function withoutMinisign(folder: string): Promise<string> {
  const tools = join(folder, "tools");
  await mkdir(tools, { recursive: true });
  if ((await readdir(tools)).length > 0) return tools;
  const names = "curl wget uname sha256sum shasum mkdir mktemp rm ls grep head cut chmod mv cat sh echo";
  const find = `for name in ${names}; do path=$(command -v $name) && ln -sf "$path" '${tools}/'; done; true`;
  await new Deno.Command("sh", { args: ["-c", find] }).output();
  return tools;
}

const canInstall = process.platform === "linux" && process.arch === "x64" && await isThere("curl", ["--version"], "it");
const NAME = nameExecutable("x86_64-unknown-linux-gnu", "deno", VERSION);
const PROGRAM = `#!/bin/sh\necho ${VERSION}\n`;

function createFiles(program = PROGRAM): Map<string, string> {
  return new Map([[NAME, program], ["SHA256SUMS", `${"0".repeat(64)}  other\n${sha256(PROGRAM)}  ${NAME}\n`]]);
}

Deno.test({
  name: "install.sh installs the newest release, or the one that is asked for, with a right checksum",
  ignore: !canInstall,
  async fn() {
    await using installer = await openInstaller(createFiles());
    const { code, output, errors } = await installer.run();
    deepEqual([code, errors], [0, ""]);
    match(output, /^Portway 1\.2\.3 is \S+\/bin\/portway\nAdd \S+\/bin to PATH to run it as portway\n$/);
    deepEqual(await readdir(installer.bin), ["portway"]);
    equal(await readFile(join(installer.bin, "portway"), "utf8"), PROGRAM);
    equal((await installer.run({ PORTWAY_VERSION: VERSION })).code, 0);
    deepEqual(installer.asked, [
      ...["latest/download/SHA256SUMS", `latest/download/${NAME}`],
      ...[`download/v${VERSION}/SHA256SUMS`, `download/v${VERSION}/${NAME}`],
    ]);
  },
});

Deno.test({
  name: "install.sh leaves nothing of a damaged, incomplete or missing download, and keeps the installed program",
  ignore: !canInstall,
  async fn() {
    const cases: [Map<string, string>, RegExp][] = [
      [createFiles(`${PROGRAM}# damaged\n`), /^install\.sh: the checksum of portway-1\.2\.3-\S+ is wrong\n$/],
      [new Map(), /^curl: [^\n]*\ninstall\.sh: cannot download \S+SHA256SUMS\n$/],
      [
        new Map([["SHA256SUMS", `${sha256(PROGRAM)}  ${NAME}-other\n`]]),
        /^install\.sh: the release has no executable for /,
      ],
      [new Map([["SHA256SUMS", `${sha256(PROGRAM)}  ${NAME}\n`]]), /install\.sh: cannot download \S+\n$/],
    ];
    for (const [files, message] of cases) {
      await using installer = await openInstaller(files);
      await mkdir(installer.bin);
      await writeFile(join(installer.bin, "portway"), "old");
      const { code, errors } = await installer.run();
      equal(code, 1);
      match(errors, message);
      deepEqual(await readdir(installer.bin), ["portway"]);
      equal(await readFile(join(installer.bin, "portway"), "utf8"), "old");
    }
  },
});

Deno.test({
  name: "install.sh verifies the signature where minisign is",
  ignore: !canInstall,
  async fn() {
    const files = createFiles();
    files.set("SHA256SUMS.minisig", "no signature");
    await using installer = await openInstaller(files);
    const tools = await withoutMinisign(installer.folder);
    // This program stands for minisign, and knows one signature.
    const fake = '#!/bin/sh\ngrep -q "right" "$2.minisig"\n';
    await writeFile(join(tools, "minisign"), fake, { mode: 0o755 });
    const refused = await installer.run();
    deepEqual([refused.code, refused.errors], [1, "install.sh: the signature of the checksums is wrong\n"]);
    deepEqual(await readdir(installer.bin), []);
    files.set("SHA256SUMS.minisig", "right");
    equal((await installer.run()).code, 0);
  },
});

Deno.test("the formula has each system's executable with its checksum", async () => {
  const formula = renderFormula(release);
  for (const target of TARGETS.filter((name) => !name.includes("windows"))) {
    const name = nameExecutable(target, "deno", VERSION);
    ok(formula.includes(`url "${RELEASES}/download/v${VERSION}/${name}"\n      sha256 "${sums.get(name)}"`), name);
  }
  equal(formula.match(/\b(?:class|def|do)\b/g)?.length, formula.match(/^ *end$/gm)?.length);
  match(formula, /^class Portway < Formula\n/);
  if (!await isThere("ruby", ["--version"], "a look at the formula")) return;
  await using folder = await makeTempDir();
  const file = join(folder.path, "portway.rb");
  await writeFile(file, formula);
  equal((await new Deno.Command("ruby", { args: ["-c", file] }).output()).code, 0);
});

Deno.test("the Scoop manifest has the executable with its checksum, and finds later ones", () => {
  const name = nameExecutable("x86_64-pc-windows-msvc", "deno", VERSION);
  const { architecture, autoupdate, bin, version, license } = JSON.parse(renderScoopManifest(release));
  deepEqual([version, license, bin], [VERSION, "MIT", "portway.exe"]);
  deepEqual(architecture["64bit"], {
    url: `${RELEASES}/download/v${VERSION}/${name}#/portway.exe`,
    hash: sums.get(name),
  });
  equal(autoupdate.architecture["64bit"].url.replaceAll("$version", VERSION), architecture["64bit"].url);
});

Deno.test("the release workflow runs each executable on its system, and publishes only after all tests", async () => {
  const text = await readFile(join(root, ".github", "workflows", "release.yml"), "utf8");
  const targets = [...text.matchAll(/runner: ([\w.-]+), target: ([\w-]+)/g)].map((
    [, runner, target],
  ) => [target, runner]);
  deepEqual(targets.map(([target]) => target).sort(), [...TARGETS].sort());
  for (const [target, runner] of targets) {
    match(runner, target.includes("apple") ? /^macos/ : target.includes("windows") ? /^windows/ : /^ubuntu/);
  }
  const jobs = text.split(/^ {2}(?=[a-z]+:$)/m);
  const publish = jobs.find((job) => job.startsWith("publish:")) ?? "";
  match(publish, /needs: \[build, executables, npm\]/);
  for (
    const step of ["npm publish --provenance", "gh release create", "build-push-action", "attest-build-provenance"]
  ) {
    ok(publish.includes(step), step);
    ok(jobs.every((job) => job === publish || !job.includes(step)), step);
  }
  match(publish, /platforms: linux\/amd64,linux\/arm64/);
  match(text, /node: \[22, 24, 26\]/);
  const { tasks } = JSON.parse(await readFile(join(root, "deno.json"), "utf8"));
  for (const [, task] of text.matchAll(/deno task ([\w:]+)/g)) ok(task in tasks, task);
});
