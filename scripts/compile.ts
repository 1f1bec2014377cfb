/**
 * `deno task compile`: an executable for each system in `dist/`, with the page's files inside, and their checksums.
 * Where the runtime to embed into cannot be had, it says so, and checks against any file in its place (`DENORT_BIN`)
 * that what is embedded is complete. `--target <name>` makes one, `--version <release>` stamps it.
 */
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { Buffer } from "node:buffer";
import { dirname, join } from "node:path";
import process from "node:process";
import { LATER, listProductFiles, ROOT } from "./package/product_files.ts";
import { readFlag, stampRelease } from "./package/release.ts";
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
 * What the program may do: no code of others in its process (`--allow-ffi` is for one call of the C library that lets a
 * server tell a restarted client's socket from a dead one), and files, network and programs as its user asks.
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

/** Files that are read or loaded by name, which the compiler cannot find by itself. */
export function listIncluded(files: readonly string[], read: (path: string) => string): string[] {
  const later = files.filter((path) => /\.tsx?$/.test(path)).flatMap((path) =>
    [...read(path).matchAll(LATER)].map(([, specifier]) => join(dirname(path), specifier))
  );
  const assets = files.filter((path) => !/\.tsx?$/.test(path));
  return [...new Set([...later, ...assets])].filter((path) => files.includes(path)).sort();
}

/**
 * Compiles for a target into a file.
 * @param runtime takes the place of the one that would be downloaded
 * @throws Error with what the compiler says
 */
export function compile(target: Target, file: string, version: string, runtime?: string): void {
  const work = mkdtempSync(join(tmpdir(), "portway-compile-"));
  try {
    const files = listProductFiles();
    for (const path of [...files, "deno.json", "deno.lock"]) {
      mkdirSync(join(work, dirname(path)), { recursive: true });
      cpSync(join(ROOT, path), join(work, path));
    }
    symlinkSync(join(ROOT, "node_modules"), join(work, "node_modules"));
    stampRelease(work, version);
    const included = listIncluded(files, (path) => readFileSync(join(work, path), "utf8"));
    const flags = [readV8Flags(), ...PERMISSIONS, "--target", target, "--output", file];
    const { success, stderr } = new Deno.Command(Deno.execPath(), {
      args: [
        "compile",
        "--quiet",
        "--no-check",
        ...flags,
        ...included.flatMap((path) => ["--include", path]),
        "cli.ts",
      ],
      cwd: work,
      env: runtime === undefined ? {} : { DENORT_BIN: runtime },
      stderr: "piped",
    }).outputSync();
    if (!success) throw new Error(new TextDecoder().decode(stderr).trim());
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The files of the program whose bytes are not in an executable. */
export function findMissing(executable: string): string[] {
  const bytes = Buffer.from(readFileSync(executable));
  return listProductFiles().filter((path) => !/\.tsx?$/.test(path)).filter((path) => {
    const content = readFileSync(join(ROOT, path));
    return content.length > 0 && !bytes.includes(content);
  });
}

function main(): number {
  const version = readFlag("--version") ?? "0.0.0-dev", out = readFlag("--out") ?? join(ROOT, "dist");
  const wanted = readFlag("--target"), targets = TARGETS.filter((target) => wanted === undefined || target === wanted);
  if (targets.length === 0) throw new Error(`--target: one of ${TARGETS.join(", ")} is wanted`);
  mkdirSync(out, { recursive: true });
  const sums: string[] = [];
  for (const target of targets) {
    const name = nameExecutable(target, version), file = join(out, name);
    try {
      compile(target, file, version, Deno.env.get("DENORT_BIN"));
    } catch (error) {
      if (!/denort|download/i.test(String(error))) throw error;
      process.stderr.write(`${name}: the runtime to embed into cannot be downloaded: ${describeRefusal(error)}\n`);
      return checkEmbedded(out, version, target);
    }
    const missing = findMissing(file);
    if (missing.length > 0) throw new Error(`${name} lacks ${missing.join(", ")}`);
    sums.push(`${createHash("sha256").update(readFileSync(file)).digest("hex")}  ${name}`);
    process.stdout.write(`${file}\n`);
  }
  writeFileSync(join(out, `portway-${version}-SHA256SUMS`), sums.join("\n") + "\n");
  return 0;
}

/** The last line says what could not be had. */
const describeRefusal = (error: unknown) => String(error).split("\n").at(-1);

/** What can be told without the runtime: whether all that is embedded would be. */
function checkEmbedded(out: string, version: string, target: Target): number {
  const file = join(out, "embedded.tmp");
  try {
    compile(target, file, version, Deno.execPath());
    const missing = findMissing(file);
    process.stderr.write(
      `${missing.length === 0 ? "The embedded files are complete." : `It would lack ${missing.join(", ")}`}\n`,
    );
    return 1;
  } finally {
    rmSync(file, { force: true });
  }
}

if (import.meta.main) Deno.exit(main());
