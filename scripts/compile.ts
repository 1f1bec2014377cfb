/**
 * `deno task compile`: writes an executable for each system into `dist/`, with all files inside, and SHA256SUMS.
 *
 * - `--runtime deno|node`: the runtime inside. `deno`, the default, is downloaded by `deno compile`, or `DENORT_BIN`
 *   names it. `node` comes from npm, in one pinned version.
 * - `--target <name>`: builds one target; all of them otherwise.
 * - `--version <release>`, `--releases <URL>` and `--key <public key>`: the facts that `portway upgrade` uses.
 * - `--out <folder>`: another folder than `dist/`.
 *
 * The executable for this machine is run before any file appears in the folder.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { findTarget, nameExecutable, type Runtime, type Target, TARGETS } from "../client/upgrade/mod.ts";
import type { Build } from "../common/release.ts";
import { writeChecksums } from "./package/checksums.ts";
import { CompileFailed } from "./package/compile_failed.ts";
import { compileForDeno, prepareDenoProgram } from "./package/deno_executable.ts";
import { compileForNode, prepareNodeProgram } from "./package/node_executable.ts";
import { ROOT } from "./package/product_files.ts";
import { BadFlag, readBuild, readFlag, runScript } from "./package/release.ts";
import { tryExecutable } from "./package/try_executable.ts";

/** Compiles for a target into a file. */
type Compile = (target: Target, file: string) => void;

/** Builds the program once, for all targets. */
function prepare(work: string, runtime: Runtime, build: Build): Compile {
  if (runtime === "node") {
    const program = prepareNodeProgram(work, build);
    return (target, file) => compileForNode(program, target, work, file);
  }
  const folder = prepareDenoProgram(work, build), denort = process.env.DENORT_BIN;
  return (target, file) => compileForDeno(folder, target, file, denort === undefined ? {} : { DENORT_BIN: denort });
}

/**
 * Writes executables into a folder. They appear together, after the one for this machine has run.
 * @returns their paths
 * @throws CompileFailed; the folder is then as before
 */
export async function compileAll(
  out: string,
  runtime: Runtime,
  build: Build,
  targets: readonly Target[],
): Promise<string[]> {
  const isNew = !existsSync(out), version = String(build.version);
  mkdirSync(out, { recursive: true });
  const work = mkdtempSync(join(tmpdir(), "portway-compile-")), staging = mkdtempSync(join(out, ".compile-"));
  try {
    const compile = prepare(work, runtime, build), host = findTarget(process.platform, process.arch);
    for (const target of targets) compile(target, join(staging, nameExecutable(target, runtime, version)));
    if (host !== null && targets.includes(host)) {
      await tryExecutable(join(staging, nameExecutable(host, runtime, version)), version);
    }
    const names = readdirSync(staging).sort();
    for (const name of names) renameSync(join(staging, name), join(out, name));
    writeChecksums(out, version);
    return names.map((name) => join(out, name));
  } finally {
    rmSync(work, { recursive: true, force: true });
    rmSync(staging, { recursive: true, force: true });
    if (isNew && readdirSync(out).length === 0) rmSync(out, { recursive: true });
  }
}

async function main(): Promise<number> {
  const runtime = readFlag("--runtime") ?? "deno", wanted = readFlag("--target");
  if (runtime !== "deno" && runtime !== "node") throw new BadFlag(`--runtime: "${runtime}" is neither deno nor node`);
  const targets = TARGETS.filter((target) => wanted === undefined || target === wanted);
  if (targets.length === 0) throw new BadFlag(`--target: "${wanted}" is unknown; use one from ${TARGETS.join(", ")}`);
  try {
    const files = await compileAll(readFlag("--out") ?? join(ROOT, "dist"), runtime, readBuild(runtime), targets);
    process.stdout.write(files.map((file) => `${file}\n`).join(""));
    return 0;
  } catch (error) {
    if (!(error instanceof CompileFailed)) throw error;
    process.stderr.write(`No executable: ${error.message}\n`);
    return 1;
  }
}

if (import.meta.main) Deno.exit(await runScript(main));
