import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { Build } from "../../common/release.ts";
import type { Target } from "../../client/upgrade/mod.ts";
import { makePackage } from "../build_npm.ts";
import { readV8Flags } from "../v8_flags.ts";
import { CompileFailed } from "./compile_failed.ts";
import { findMissing, listWanted, readEmbedded } from "./embedded.ts";
import { addRuntimeLicence, DENO_LICENCE } from "./licences.ts";
import { ROOT } from "./product_files.ts";

/**
 * The rights of the program inside its runtime: files, network and programs as its user has them. `--allow-ffi` is for
 * calls into the C library, which set socket options and list a folder's entries together.
 */
const PERMISSIONS = [
  "--allow-net",
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-sys",
  "--allow-run",
  "--allow-ffi",
];

/**
 * Writes the program for `deno compile` into its own folder.
 * @returns the folder
 */
export function prepareDenoProgram(work: string, build: Build): string {
  const { folder } = makePackage(work, build);
  addRuntimeLicence(folder, "Deno", DENO_LICENCE);
  const { unstable } = JSON.parse(readFileSync(join(ROOT, "deno.json"), "utf8"));
  writeFileSync(join(folder, "deno.json"), JSON.stringify({ nodeModulesDir: "manual", unstable }));
  return folder;
}

/**
 * Compiles the program for a target.
 * @param folder from {@link prepareDenoProgram}
 * @param env variables for the compiler: `DENORT_BIN` names a runtime on this machine, which saves the download
 * @throws CompileFailed, also for an executable that lacks a file
 */
export function compileForDeno(
  folder: string,
  target: Target,
  file: string,
  env: Readonly<Record<string, string>>,
): void {
  // The compiler embeds packages whole, but only program modules that it sees imported.
  const included = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile()).map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .filter((path) => !/^node_modules\b|^deno\.json$/.test(path));
  const { success, stderr } = new Deno.Command(Deno.execPath(), {
    args: [
      "compile",
      "--quiet",
      "--no-check",
      readV8Flags(),
      ...PERMISSIONS,
      ...["--target", target, "--output", file],
      ...included.flatMap((path) => ["--include", path]),
      "cli.js",
    ],
    cwd: folder,
    env: { ...env },
    stderr: "piped",
  }).outputSync();
  if (!success) throw explainFailure(new TextDecoder().decode(stderr).trim(), env.DENORT_BIN);
  const missing = findMissing(readEmbedded(readFileSync(file)), listWanted(folder), folder);
  if (missing.length > 0) throw new CompileFailed(`the executable lacks ${missing.join(", ")}`);
}

/** Returns the cause from the compiler's output, which begins with the step that failed. */
function explainFailure(output: string, runtime: string | undefined): CompileFailed {
  const cause = /^ +1: (.*)$/m.exec(output)?.[1] ?? output.split("\n")[0];
  if (runtime !== undefined) return new CompileFailed(`cannot use the runtime ${runtime}: ${cause}`);
  if (!/Setting up base binary/.test(output)) return new CompileFailed(cause);
  return new CompileFailed(
    `cannot download the runtime for deno compile (${cause}); use --runtime node, or DENORT_BIN with a downloaded one`,
  );
}
