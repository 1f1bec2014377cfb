import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { CompileFailed } from "./compile_failed.ts";
import { LICENCES_FILE } from "./licences.ts";
import { LATER, listProductFiles } from "./product_files.ts";

/** The folder for modules that the bundler writes, all of them side by side. */
const BUNDLE = "bundle";
/** The module with which the program starts. */
export const MAIN = "main.js";

/**
 * Joins a package and its dependencies into some 150: a program starts in half the time then. Files
 * that the program reads keep their paths.
 * @param folder the package, whose modules this changes
 * @param read packages whose files are loaded by pages
 * @returns all paths that the program needs besides {@link MAIN}
 * @throws CompileFailed with the bundler's first line
 */
export function splitBundle(folder: string, read: readonly string[]): string[] {
  const product = listProductFiles();
  for (const path of product.filter((name) => /\.tsx?$/.test(name))) {
    adaptModule(folder, path.replace(/\.tsx?$/, ".js"));
  }
  writeFileSync(join(folder, "deno.json"), JSON.stringify({ nodeModulesDir: "manual" }));
  const { success, stderr } = new Deno.Command(Deno.execPath(), {
    args: [
      ...["bundle", "--quiet", "--no-lock", "--code-splitting", "--platform=deno", `--outdir=${BUNDLE}`],
      // An optional import, which is left out.
      "--external=@opentelemetry/api",
      "cli.js",
    ],
    cwd: folder,
    stderr: "piped",
    env: { NO_COLOR: "1" },
  }).outputSync();
  if (!success) {
    const [line] = new TextDecoder().decode(stderr).trim().split("\n");
    throw new CompileFailed(`cannot bundle the program: ${line}`);
  }
  writeFileSync(join(folder, MAIN), `import "./${BUNDLE}/cli.js";\n`);
  return [
    ...product.filter((path) => !/\.tsx?$/.test(path)),
    ...[BUNDLE, ...read.map((name) => `node_modules/${name}`)].flatMap((path) => listFiles(folder, path)),
    ...["LICENSE", LICENCES_FILE, "package.json"],
  ].sort();
}

/** Shows the bundler each import, and keeps addresses that are relative to a module. */
function adaptModule(folder: string, path: string): void {
  const file = join(folder, path), text = readFileSync(file, "utf8");
  const adapted = text
    .replace(LATER, (_, specifier: string) => JSON.stringify(specifier))
    .replace(/\bimport\.meta\.url\b/g, `new URL("../${path}", import.meta.url).href`);
  if (adapted !== text) writeFileSync(file, adapted);
}

function listFiles(folder: string, path: string): string[] {
  return readdirSync(join(folder, path), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, "/"));
}
