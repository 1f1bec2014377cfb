/**
 * What is inside an executable, run as nearly as an executable runs: unpacked into an empty folder, with nothing in
 * any cache and no network to fetch from.
 */
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CompileFailed } from "../scripts/package/compile_failed.ts";
import { compileForDeno, prepareDenoProgram } from "../scripts/package/deno_executable.ts";
import { findMissing, listWanted, readEmbedded, unpackEmbedded } from "../scripts/package/embedded.ts";
import { loadAssets } from "./executable_kit.ts";
import { makeTempDir, runProgram, startServer, startTunnel, visit, withInstalled } from "./kit.ts";

const TARGET = "x86_64-unknown-linux-gnu", RELEASE = "1.2.3";
const BUILD = { version: RELEASE, form: "deno", releases: null, key: null } as const;
/** Bytes, without the runtime and the documentation. */
const MAX_EMBEDDED = 16_000_000;

Deno.test("what an executable embeds is complete, is no more than needed, and runs alone", async (t) => {
  await using folder = await makeTempDir();
  const program = prepareDenoProgram(folder.path, BUILD), file = join(folder.path, "executable");
  // Any program for this system stands in for the runtime, which need not be there.
  compileForDeno(program, TARGET, file, { DENORT_BIN: Deno.execPath() });
  const embedded = readEmbedded(await readFile(file)), wanted = listWanted(program);

  await t.step("every module, file of a page and package is there, and what is not would be seen", () => {
    assert.deepEqual(findMissing(embedded, wanted, program), []);
    const some = ["client/files/mod.js", "server/run.js", "client/files/assets/page.html", "vendor/better-auth.js"];
    for (const path of [...some, "web/styles/tokens.css", "node_modules/busboy/lib/index.js"]) {
      const others = new Map([...embedded].filter(([name]) => name !== path));
      assert.deepEqual(findMissing(others, wanted, program), [path]);
    }
    const [path] = some;
    assert.deepEqual(findMissing(new Map([...embedded, [path, embedded.get("cli.js")!]]), wanted, program), [path]);
  });
  await t.step("nothing is there that only tests and tools need", () => {
    const program = [...embedded].filter(([name]) => !name.startsWith("site/dist/"));
    const size = program.reduce((sum, [, bytes]) => sum + bytes.length, 0);
    assert(size < MAX_EMBEDDED, String(size));
    assert.deepEqual(
      [...embedded.keys()].filter((path) =>
        /_test\.|modules\/(?:typescript|playwright-core|fast-check)\/|\.d\.ts$/.test(path)
      ),
      [],
    );
  });
  await t.step("it runs in an empty folder", async () => {
    const place = join(folder.path, "place");
    unpackEmbedded(embedded, place);
    const installed = { node: await writeLauncher(folder.path, place), folder: place };
    await withInstalled(installed, () => useAll(folder.path));
  });
  await t.step("a runtime for another system is rejected in one line", () => {
    assert.throws(
      () => compileForDeno(program, "aarch64-apple-darwin", file, { DENORT_BIN: Deno.execPath() }),
      (error) => {
        return error instanceof CompileFailed && /^[^\n]+$/.test(error.message);
      },
    );
  });
});

async function makeFolder(parent: string, name: string): Promise<string> {
  const path = join(parent, name);
  await mkdir(path);
  return path;
}

/** Starts what is unpacked as the executable starts it: one program, whose server is a command. */
async function writeLauncher(folder: string, place: string): Promise<string> {
  const launcher = join(folder, "launch");
  const lines = [
    "#!/bin/sh",
    `export DENO_DIR='${await makeFolder(folder, "cache")}' HTTPS_PROXY=http://127.0.0.1:9`,
    'part=${1##*/}; shift; [ "$part" = server.js ] && set -- server "$@"',
    `exec '${Deno.execPath()}' run --quiet -A --cached-only --no-remote --no-lock '${place}/cli.js' "$@"`,
  ];
  await writeFile(launcher, `${lines.join("\n")}\n`, { mode: 0o755 });
  return launcher;
}

async function useAll(folder: string): Promise<void> {
  assert.equal((await runProgram({ entry: "cli.ts", args: ["--version"] })).output.trim(), RELEASE);
  const shared = await makeFolder(folder, "shared");
  await writeFile(join(shared, "notes.md"), "# Notes\n");
  await using server = await startServer();
  await loadAssets(`${server.url}/sign-in`, ["hq.js", "layout.css"]);
  const code = await visit(`${server.url}/api/auth/device/code`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: "client_id=portway-cli&scope=openid",
  });
  assert.match(await code.text(), /"user_code"/);
  await using tunnel = await startTunnel({ server, args: ["-f", shared] });
  assert.equal(await (await visit(`${tunnel.url}/notes.md`)).text(), "# Notes\n");
  await loadAssets(tunnel.url, ["lib-markdown-it.js", "lib-highlight.js", "app.js"]);
  assert.equal((await tunnel.stop()).code, 0);
}
