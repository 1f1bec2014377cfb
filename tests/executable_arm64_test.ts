/** The executable with Node's runtime for Linux ARM64: built here, and run by the suite in an emulator. */
import { spawnSync } from "node:child_process";
import process from "node:process";
import { compileAll } from "../scripts/compile.ts";
import { tryAll } from "./executable_kit.ts";
import { makeTempDir } from "./kit/mod.ts";

const VERSION = "1.2.3";
/** Debian's emulator, with the folder of the libraries. */
const EMULATOR = ["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"];

Deno.test({
  name: "the executable for Linux ARM64 passes the suite in an emulator",
  ignore: isMissing(),
  async fn(t) {
    await using folder = await makeTempDir();
    const build = { version: VERSION, form: "node", releases: null, key: null } as const;
    const [file] = await compileAll(folder.path, "node", build, ["aarch64-unknown-linux-gnu"]);
    await tryAll(t, { command: [...EMULATOR, file], version: VERSION, runtime: "node" });
  },
});

/** Reports on a system without the emulator that a part of the test is left out. */
function isMissing(): boolean {
  const { error } = spawnSync(EMULATOR[0], ["--version"]);
  if (error === undefined) return false;
  process.stdout.write(
    `SKIPPED: executables for ARM64, because ${EMULATOR[0]} is missing (Debian: qemu-user-static)\n`,
  );
  return true;
}
