/**
 * `deno task build:npm`: writes the package for Node as `dist/portway-<version>.tgz`. Deno's packer makes JavaScript
 * from the code; this adds names, the command, types, licences, and the packages that the program needs, in the tested
 * versions. `--version <release>` sets the version, `--out <folder>` the folder.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import type { Build } from "../common/release.ts";
import { isJoined, joinPackages, redirectToJoined } from "./package/join_packages.ts";
import { writeLicences } from "./package/licences.ts";
import { copyPackages, findPackageNames, flatten, loadPackages, type NpmPackage } from "./package/npm_packages.ts";
import { LATER, listProductFiles, ROOT } from "./package/product_files.ts";
import { runTool } from "./package/run_tool.ts";
import { emitTypes } from "./package/types.ts";
import { readBuild, readFlag, runScript, stampBuild } from "./package/release.ts";

/** Packages whose files are loaded by pages. Each file contains its dependencies. */
export const ASSET_PACKAGES = ["@highlightjs/cdn-assets", "markdown-it"];

/** Optional imports in joined packages. */
const OPTIONAL: ReadonlySet<string> = new Set(["@opentelemetry/api"]);

/** The first Node release whose `node:sqlite` needs no flag. */
const NODE = ">=22.13.0";

/** The package for npm on the disk. */
export interface BuiltPackage {
  /** The tarball. */
  readonly file: string;
  readonly bytes: number;
  /** Package names in its `node_modules`. */
  readonly bundled: readonly string[];
  /** Packages that became parts of its own modules. */
  readonly joined: readonly string[];
}

/** Builds the package into a folder. @throws ToolFailed */
export function buildNpm(out: string, build: Build): BuiltPackage {
  const work = mkdtempSync(join(tmpdir(), "portway-npm-"));
  try {
    const { folder, bundled, joined } = makePackage(work, build);
    emitTypes(join(work, "stage"), folder);
    mkdirSync(out, { recursive: true });
    const file = join(out, `portway-${build.version}.tgz`);
    runTool("tar", ["czf", file, "package"], work);
    return { file, bytes: readFileSync(file).length, bundled, joined };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Writes the package without types into the folder `package` inside another one, beside `stage` with its source. */
export function makePackage(work: string, build: Build): { folder: string; bundled: string[]; joined: string[] } {
  const files = listProductFiles(), folder = packModules(files, work, build);
  const { bundled, joined } = addPackages(files, folder);
  checkModules(folder, bundled);
  const manifest = createManifest(String(build.version), bundled, join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, null, 2) + "\n");
  return { folder, bundled, joined };
}

/** Writes the program as JavaScript. @returns the package's folder */
function packModules(files: readonly string[], work: string, build: Build): string {
  const stage = join(work, "stage"), folder = join(work, "package");
  // A missing program is reported before the work begins.
  runTool("tar", ["--version"], work);
  stageFiles(files, stage, build);
  const flags = ["--quiet", "--allow-dirty", "--allow-slow-types", "--no-source-maps", "--output", "p.tgz"];
  runTool("deno", ["pack", ...flags], stage);
  runTool("tar", ["xzf", join(stage, "p.tgz"), "-C", work], work);
  removeSources(folder);
  finishModules(files, folder);
  return folder;
}

/** Adds the packages that the program needs. @returns names: copied packages, joined packages */
function addPackages(files: readonly string[], folder: string): { bundled: string[]; joined: string[] } {
  const texts = files.filter((path) => /\.tsx?$/.test(path)).map((path) => readFileSync(join(ROOT, path), "utf8"));
  const packages = loadPackages(findPackageNames(texts).filter((name) => !isJoined(name)));
  const copied = copyPackages(packages, join(folder, "node_modules"));
  const joined = joinPackages(texts, folder, copied), assets = loadPackages(ASSET_PACKAGES);
  for (const one of assets) copyAssets(one, join(folder, "node_modules", one.name));
  writeLicences(folder, [...flatten(packages), ...assets, ...joined]);
  return { bundled: [...copied, ...ASSET_PACKAGES].sort(), joined: joined.map(({ name }) => name) };
}

/** Node 22 warns that `node:sqlite` is experimental. Programs drop this warning alone, and no library does. */
const QUIET_SQLITE = `const { emitWarning } = process;
process.emitWarning = (warning, ...rest) => {
  if (!/^SQLite is an experimental feature/.test(String(warning))) emitWarning.call(process, warning, ...rest);
};
`;

/** Copies the program into another folder for the packer, which wants a name with a scope. */
function stageFiles(files: readonly string[], stage: string, build: Build): void {
  for (const path of [...files, "README.md", "LICENSE", "deno.lock"]) {
    mkdirSync(join(stage, dirname(path)), { recursive: true });
    cpSync(join(ROOT, path), join(stage, path));
  }
  stampBuild(stage, build);
  const { exports, license, unstable, compilerOptions, imports } = readJson(join(ROOT, "deno.json"));
  const config = {
    name: "@portway/portway",
    version: build.version,
    exports,
    license,
    unstable,
    compilerOptions,
    imports,
  };
  writeFileSync(join(stage, "deno.json"), JSON.stringify({ ...config, nodeModulesDir: "none" }));
}

/** Removes TypeScript that no entry imports, which the packer copies unchanged. */
function removeSources(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (/(?<!\.d)\.tsx?$|(?:^|\/)deno\.(?:json|lock)$/.test(name)) rmSync(join(folder, name));
  }
}

/** Adapts imports that the packer does not see, and adds the line by which a shell runs the command. */
function finishModules(files: readonly string[], folder: string): void {
  for (const path of files.filter((name) => /\.tsx?$/.test(name))) {
    const file = join(folder, path.replace(/\.tsx?$/, ".js"));
    const text = readFileSync(file, "utf8");
    const found = text.replace(LATER, (_, specifier: string) => `later("${specifier.replace(/\.tsx?$/, ".js")}")`);
    const finished = redirectToJoined(found, path);
    if (finished !== text) writeFileSync(file, finished);
    if (/^\s*(?:await )?using \w+ =/m.test(finished)) {
      throw new Error(`${path} has "using", which Node 22 cannot parse`);
    }
  }
  for (const name of ["cli.js", "server.js"]) {
    const file = join(folder, name), line = name === "cli.js" ? "#!/usr/bin/env node\n" : "";
    writeFileSync(file, `${line}${QUIET_SQLITE}${readFileSync(file, "utf8")}`, { mode: 0o755 });
  }
}

/** @throws Error for a module that imports a file or a package outside the package */
function checkModules(folder: string, bundled: readonly string[]): void {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  for (const path of names.filter((name) => /\.js$/.test(name) && !/^node_modules\b|\bassets\b/.test(name))) {
    const code = readFileSync(join(folder, path), "utf8").replace(/^\s*(?:\/?\*|\/\/).*$/gm, "");
    for (const [, specifier] of code.matchAll(/(?:^|[;}\s])(?:from|import|import\(|later\()\s*"([@.a-z][^":]+)"/g)) {
      const isThere = specifier.startsWith(".")
        ? existsSync(join(folder, dirname(path), specifier))
        : bundled.some((name) => `${specifier}/`.startsWith(`${name}/`));
      if (!isThere && !OPTIONAL.has(specifier)) {
        throw new Error(`${path} imports ${specifier}, which the package lacks`);
      }
    }
  }
}

/** Copies the modules for browsers and the licence. */
function copyAssets({ path: source }: NpmPackage, target: string): void {
  const isWanted = (path: string) => /^(?:\/(?:es|dist)(?:\/.*)?|\/package\.json|\/LICENSE)?$/.test(path);
  cpSync(source, target, {
    recursive: true,
    dereference: true,
    filter: (path) => isWanted(path.slice(source.length).replaceAll("\\", "/")) && !/\.map$/.test(path),
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
    man: "./docs/reference/portway.1",
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
  const { file, bytes, bundled } = buildNpm(readFlag("--out") ?? join(ROOT, "dist"), readBuild("npm"));
  process.stdout.write(`${file}: ${(bytes / 1e6).toFixed(1)} MB, with ${bundled.length} packages inside\n`);
  return 0;
}

if (import.meta.main) process.exit(await runScript(main));
