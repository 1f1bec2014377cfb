/**
 * `deno task compile`: an executable for each system in `dist/`, with the page's files inside, and their checksums.
 * What is embedded is the package for Node, with no more packages than the program needs. Where the runtime to embed
 * into cannot be had, it says so, and checks that what would be embedded is complete; `DENORT_BIN` names one that is
 * there already. `--target <name>` makes one, `--version <release>` stamps it, `--out <folder>` puts them elsewhere.
 */
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import process from "node:process";
import { makePackage } from "./build_npm.ts";
import { findMissing, listWanted, readEmbedded } from "./package/embedded.ts";
import { ROOT } from "./package/product_files.ts";
import { BadFlag, readFlag, readVersion, runScript } from "./package/release.ts";
import { readV8Flags } from "./v8_flags.ts";

/** The systems there is an executable for. */
export const TARGETS = [
  "x86_64-apple-darwin",
  "aarch64-apple-darwin",
  "x86_64-unknown-linux-gnu",
  "aarch64-unknown-linux-gnu",
  "x86_64-pc-windows-msvc",
] as const;
/** A system that an executable is made for, as Deno names it. */
export type Target = typeof TARGETS[number];

/**
 * What the program may do: no code of others in its process (`--allow-ffi` is for calls of the C library alone, which set
 * options of sockets and look at a folder's entries together), and files, network and programs as its user asks.
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

/** The name of the executable for a target. */
export function nameExecutable(target: Target, version: string): string {
  return `portway-${version}-${target}${target.includes("windows") ? ".exe" : ""}`;
}

/**
 * The program as it is embedded, in a folder of its own.
 * @returns the folder
 */
export function prepareProgram(work: string, version: string): string {
  const { folder } = makePackage(work, version);
  const { unstable } = JSON.parse(readFileSync(join(ROOT, "deno.json"), "utf8"));
  writeFileSync(join(folder, "deno.json"), JSON.stringify({ nodeModulesDir: "manual", unstable }));
  return folder;
}

/**
 * Compiles for a target into a file.
 * @param folder from {@link prepareProgram}
 * @param env for the compiler: `DENORT_BIN` takes the place of the runtime that would be downloaded
 * @throws RuntimeMissing; CompileFailed, also when what it embedded is not complete
 */
export function compile(folder: string, target: Target, file: string, env: Readonly<Record<string, string>>): void {
  // Packages are embedded whole; of the rest the compiler finds only what it sees imported.
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
  if (missing.length > 0) throw new CompileFailed(`it lacks ${missing.join(", ")}`);
}

/** There is no executable, for the reason that the message tells in one line. */
export class CompileFailed extends Error {
  override readonly name: string = "CompileFailed";
}

/** The runtime to embed into could not be downloaded. */
export class RuntimeMissing extends CompileFailed {
  override readonly name = "RuntimeMissing";
}

/** Of what the compiler says, the cause: it tells first which step failed. */
function explainFailure(said: string, runtime: string | undefined): CompileFailed {
  const cause = /^ +1: (.*)$/m.exec(said)?.[1] ?? said;
  if (runtime !== undefined) return new CompileFailed(`${runtime} is no runtime for it: ${cause}`);
  return /Setting up base binary/.test(said) ? new RuntimeMissing(cause) : new CompileFailed(cause);
}

/**
 * Writes the executables and their checksums.
 * @returns the exit code: 0 when all are there
 */
function compileAll(out: string, version: string, targets: readonly Target[]): number {
  const work = mkdtempSync(join(tmpdir(), "portway-compile-")), runtime = process.env.DENORT_BIN;
  try {
    const folder = prepareProgram(work, version);
    mkdirSync(out, { recursive: true });
    const sums: string[] = [];
    for (const target of targets) {
      const name = nameExecutable(target, version), file = join(out, name);
      compile(folder, target, file, runtime === undefined ? {} : { DENORT_BIN: runtime });
      sums.push(`${createHash("sha256").update(readFileSync(file)).digest("hex")}  ${name}\n`);
      process.stdout.write(`${file}\n`);
    }
    writeFileSync(join(out, `portway-${version}-SHA256SUMS`), sums.join(""));
    return 0;
  } catch (error) {
    if (!(error instanceof CompileFailed)) throw error;
    process.stderr.write(`No executable: ${error.message}\n`);
    if (error instanceof RuntimeMissing) checkWithout(work);
    return 1;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** What can be told without the runtime: whether all that is embedded would be. Any program stands in for it. */
function checkWithout(work: string): void {
  compile(join(work, "package"), "x86_64-unknown-linux-gnu", join(work, "embedded"), { DENORT_BIN: Deno.execPath() });
  process.stderr.write("What would be embedded is complete. DENORT_BIN names a runtime that is there already.\n");
}

function main(): number {
  const wanted = readFlag("--target"), targets = TARGETS.filter((target) => wanted === undefined || target === wanted);
  if (targets.length === 0) throw new BadFlag(`--target: one of ${TARGETS.join(", ")} is wanted`);
  return compileAll(readFlag("--out") ?? join(ROOT, "dist"), readVersion("0.0.0-dev"), targets);
}

if (import.meta.main) Deno.exit(await runScript(main));
