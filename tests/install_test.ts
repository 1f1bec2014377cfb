/** The command as README has people install it. */
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeTempDir, runProgram, startTunnel, visit, withInstalled } from "./kit.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

Deno.test("README's way to install makes a command that works in any folder, with nothing left to fetch", async () => {
  const [, line] = /`deno (install [^`]*)`/.exec(await readFile(join(root, "README.md"), "utf8")) ?? [];
  await using folder = await makeTempDir();
  const install = new Deno.Command(Deno.execPath(), {
    args: line.split(" "),
    cwd: root,
    env: { DENO_INSTALL_ROOT: folder.path },
    stdin: "null",
    stderr: "piped",
  });
  const { success, stderr } = await install.output();
  assert(success, new TextDecoder().decode(stderr));
  const shared = join(folder.path, "shared"), launcher = join(folder.path, "launch");
  await mkdir(shared);
  await writeFile(join(shared, "notes.md"), "# Notes\n");
  const lines = [
    "#!/bin/sh",
    `cd '${shared}'; shift`,
    `export PATH='${dirname(Deno.execPath())}':"$PATH" HTTPS_PROXY=http://127.0.0.1:9`,
    `exec '${join(folder.path, "bin", "portway")}' "$@"`,
  ];
  await writeFile(launcher, `${lines.join("\n")}\n`, { mode: 0o755 });
  await withInstalled({ node: launcher, folder: folder.path, part: "cli.ts" }, async () => {
    const { code, output } = await runProgram({ entry: "cli.ts", args: ["--version"] });
    assert.equal(code, 0);
    assert.match(output.trimEnd(), /^\S+$/);
    await using tunnel = await startTunnel({ args: ["-f", "."] });
    assert.equal(await (await visit(`${tunnel.url}/notes.md`)).text(), "# Notes\n");
    assert.equal((await tunnel.stop()).code, 0);
  });
});
