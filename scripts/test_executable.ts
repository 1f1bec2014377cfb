/**
 * `deno task test:executable FILE`: runs the black-box suite for an executable. The version is part of the file's name,
 * or `--version` gives it.
 *
 * - `--through "PROGRAM ARGUMENTS"`: starts the file with another program, such as an emulator.
 * - `--root FOLDER`: starts a copy of the file with that folder as the root of all paths. It needs to be root on Linux.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import process from "node:process";
import { BadFlag, readFlag, runScript } from "./package/release.ts";
import { ROOT } from "./package/product_files.ts";
import { runTool } from "./package/run_tool.ts";

async function main(): Promise<number> {
  const [given] = Deno.args;
  if (given === undefined || given.startsWith("--")) throw new BadFlag("expected FILE, the executable");
  const file = resolve(given), name = basename(file);
  const version = readFlag("--version") ?? /^portway-(.*?)-(?:x86_64|aarch64)-/.exec(name)?.[1];
  if (version === undefined) throw new BadFlag(`--version: "${name}" does not contain a version`);
  const runtime = /-node(?:\.exe)?$/.test(name) ? "node" : "deno";
  const through = readFlag("--through")?.split(" ") ?? [], root = readFlag("--root");
  const isWindows = name.endsWith(".exe"), inside = isWindows ? "/portway.exe" : "/portway";
  if (root === undefined) return await runSuite({ command: [...through, file], version, runtime, isWindows }, {});
  // The suite's folders have the same paths inside.
  const work = mkdtempSync(join(tmpdir(), "portway-root-")), inner = join(root, work);
  copyFileSync(file, join(root, inside));
  mkdirSync(inner, { recursive: true });
  runTool("mount", ["--bind", work, inner], ROOT);
  try {
    return await runSuite({ command: ["chroot", root, ...through, inside], version, runtime, isWindows }, {
      TMPDIR: work,
    });
  } finally {
    runTool("umount", [inner], ROOT);
    rmSync(work, { recursive: true });
    rmSync(join(root, inside));
  }
}

async function runSuite(tried: Record<string, unknown>, env: Record<string, string>): Promise<number> {
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "-A", "--no-check", "tests/executable_file.ts"],
    cwd: ROOT,
    env: { ...env, PORTWAY_TRIED: JSON.stringify(tried) },
  }).spawn().status;
  return code;
}

if (import.meta.main) process.exit(await runScript(main));
