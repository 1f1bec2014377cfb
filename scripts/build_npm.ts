/**
 * `deno task build:npm`: the package for Node as `dist/portway-<version>.tgz`. Deno's packer makes JavaScript of the
 * code; this adds what it leaves out: names, the command, types, and the packages that the program needs, which come
 * inside, in the versions that were tested. `--version <release>` stamps one; `--out <folder>` puts it elsewhere.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { isJoined, joinPackages, leadToJoined } from "./package/bundle.ts";
import { copyPackages, findPackageNames, loadPackages } from "./package/npm_packages.ts";
import { LATER, listProductFiles, ROOT } from "./package/product_files.ts";
import { runTool } from "./package/run_tool.ts";
import { emitTypes } from "./package/types.ts";
import { readFlag, readVersion, runScript, stampRelease } from "./package/release.ts";

/** Packages of which a page loads a file: what they need themselves is in that file. */
const ASSET_PACKAGES = ["@highlightjs/cdn-assets", "markdown-it"];

/** What a joined package imports if it is there. */
const OPTIONAL: ReadonlySet<string> = new Set(["@opentelemetry/api"]);

/** The first of Node whose `node:sqlite` needs no flag. */
const NODE = ">=22.13.0";

/** The package for npm, as it was written. */
export interface BuiltPackage {
  /** The tarball. */
  readonly file: string;
  readonly bytes: number;
  /** Names of the packages inside it. */
  readonly bundled: readonly string[];
  /** Names of those that are parts of its own modules. */
  readonly joined: readonly string[];
}

/** Builds the package into a folder. */
export function buildNpm(out: string, version: string): BuiltPackage {
  const work = mkdtempSync(join(tmpdir(), "portway-npm-"));
  try {
    const { folder, bundled, joined } = makePackage(work, version);
    emitTypes(join(work, "stage"), folder);
    mkdirSync(out, { recursive: true });
    const file = join(out, `portway-${version}.tgz`);
    runTool("tar", ["czf", file, "package"], work);
    return { file, bytes: readFileSync(file).length, bundled, joined };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** All of the package but its types: the folder `package` in the one that is given, beside `stage`, its source. */
export function makePackage(work: string, version: string): { folder: string; bundled: string[]; joined: string[] } {
  const files = listProductFiles(), folder = packModules(files, work, version);
  const { bundled, joined } = addPackages(files, folder);
  checkModules(folder, bundled);
  const manifest = createManifest(version, bundled, join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, null, 2) + "\n");
  return { folder, bundled, joined };
}

/** The program as JavaScript. @returns the package's folder */
function packModules(files: readonly string[], work: string, version: string): string {
  const stage = join(work, "stage"), folder = join(work, "package");
  stageFiles(files, stage, version);
  const flags = ["--quiet", "--allow-dirty", "--allow-slow-types", "--no-source-maps", "--output", "p.tgz"];
  runTool("deno", ["pack", ...flags], stage);
  runTool("tar", ["xzf", join(stage, "p.tgz"), "-C", work], work);
  removeSources(folder);
  finishModules(files, folder);
  return folder;
}

/** The packages that it needs. @returns the names of those that lie in it, and of those that became part of it */
function addPackages(files: readonly string[], folder: string): { bundled: string[]; joined: string[] } {
  const texts = files.filter((path) => /\.tsx?$/.test(path)).map((path) => readFileSync(join(ROOT, path), "utf8"));
  const packages = loadPackages(findPackageNames(texts).filter((name) => !isJoined(name)));
  const copied = copyPackages(packages, join(folder, "node_modules"));
  const joined = joinPackages(texts, folder, copied).map(({ name }) => name);
  for (const name of ASSET_PACKAGES) copyAssets(name, join(folder, "node_modules", name));
  return { bundled: [...copied, ...ASSET_PACKAGES].sort(), joined };
}

/** The program in a folder of its own, as the packer wants it: a name with a scope, and nothing of the tools. */
function stageFiles(files: readonly string[], stage: string, version: string): void {
  for (const path of [...files, "README.md", "LICENSE", "deno.lock"]) {
    mkdirSync(join(stage, dirname(path)), { recursive: true });
    cpSync(join(ROOT, path), join(stage, path));
  }
  stampRelease(stage, version);
  const { exports, license, unstable, compilerOptions, imports } = readJson(join(ROOT, "deno.json"));
  const config = { name: "@portway/portway", version, exports, license, unstable, compilerOptions, imports };
  writeFileSync(join(stage, "deno.json"), JSON.stringify({ ...config, nodeModulesDir: "none" }));
}

/** What the packer did not make JavaScript of, since nothing imports it, and took along as it is. */
function removeSources(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (/(?<!\.d)\.tsx?$|(?:^|\/)deno\.(?:json|lock)$/.test(name)) rmSync(join(folder, name));
  }
}

/** Imports that the packer cannot see, and the line by which a shell runs the command. */
function finishModules(files: readonly string[], folder: string): void {
  for (const path of files.filter((name) => /\.tsx?$/.test(name))) {
    const file = join(folder, path.replace(/\.tsx?$/, ".js"));
    // Helpers of tests that nothing imports are not packed.
    if (!existsSync(file)) continue;
    const text = readFileSync(file, "utf8");
    const found = text.replace(LATER, (_, specifier: string) => `later("${specifier.replace(/\.tsx?$/, ".js")}")`);
    const finished = leadToJoined(found, path);
    if (finished !== text) writeFileSync(file, finished);
    if (/^\s*(?:await )?using \w+ =/m.test(finished)) {
      throw new Error(`${path} has "using", which Node 22 cannot parse`);
    }
  }
  const cli = join(folder, "cli.js");
  writeFileSync(cli, `#!/usr/bin/env node\n${readFileSync(cli, "utf8")}`, { mode: 0o755 });
}

/** @throws Error when a module imports a file or a package that is not in the package */
function checkModules(folder: string, bundled: readonly string[]): void {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  for (const path of names.filter((name) => /\.js$/.test(name) && !/^node_modules\b|\bassets\b/.test(name))) {
    const code = readFileSync(join(folder, path), "utf8").replace(/^\s*(?:\/?\*|\/\/).*$/gm, "");
    for (const [, specifier] of code.matchAll(/(?:^|[;}\s])(?:from|import|import\(|later\()\s*"([@.a-z][^":]+)"/g)) {
      const isThere = specifier.startsWith(".")
        ? existsSync(join(folder, dirname(path), specifier))
        : bundled.some((name) => `${specifier}/`.startsWith(`${name}/`));
      if (!isThere && !OPTIONAL.has(specifier)) throw new Error(`${path} imports ${specifier}, which is not packed`);
    }
  }
}

/** Of a package for a page: its modules for browsers and its licence. */
function copyAssets(name: string, target: string): void {
  const source = join(ROOT, "node_modules", name);
  const isWanted = (path: string) => /^(?:\/(?:es|dist)(?:\/.*)?|\/package\.json|\/LICENSE)?$/.test(path);
  cpSync(source, target, {
    recursive: true,
    dereference: true,
    filter: (path) => isWanted(path.slice(source.length)) && !/\.map$/.test(path),
  });
}

function createManifest(version: string, bundled: readonly string[], modules: string): Record<string, unknown> {
  const entry = (name: string) => ({ types: `./${name}.d.ts`, default: `./${name}.js` });
  const dependencies = Object.fromEntries(bundled.map((name) => {
    return [name, String(readJson(join(modules, name, "package.json")).version)];
  }));
  return {
    name: "portway",
    version,
    description: "A public URL for what runs on your machine, from a relay that you host yourself",
    keywords: ["tunnel", "localhost", "webhook", "file-sharing", "cors-proxy"],
    license: "MIT",
    type: "module",
    bin: { portway: "cli.js" },
    exports: { ".": entry("mod"), "./server": entry("server"), "./cli": entry("cli") },
    types: "./mod.d.ts",
    engines: { node: NODE },
    dependencies,
    bundleDependencies: bundled,
  };
}

function readJson(file: string): Record<string, unknown> {
  return JSON.parse(readFileSync(file, "utf8"));
}

function main(): number {
  const version = readVersion(String(readJson(join(ROOT, "deno.json")).version));
  const { file, bytes, bundled } = buildNpm(readFlag("--out") ?? join(ROOT, "dist"), version);
  process.stdout.write(`${file}: ${(bytes / 1e6).toFixed(1)} MB, with ${bundled.length} packages inside\n`);
  return 0;
}

if (import.meta.main) process.exit(await runScript(main));
