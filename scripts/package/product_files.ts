import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { stripComments } from "../check_imports.ts";

/** The project's folder. */
export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** The modules from which all imports start. */
const ENTRIES = ["cli.ts", "server.ts", "mod.ts"];

/** Calls to `later` with their specifiers, as the code contains them. */
export const LATER = /\blater\("(\.[^"]+)"\)/g;

/** Relative specifiers in imports and re-exports, and in calls to `later`, which hides them from Deno. */
const IMPORTS = /\b(?:from|import)\s*\(?\s*"(\.[^"]+)"|\blater\("(\.[^"]+)"\)/g;
/** Files and folders that a module reads relative to itself. */
const READS = /\bnew URL\("(\.[^"]+)", import\.meta\.url\)/g;

/**
 * Lists the program's files by their paths from the project's folder: each module that an entry reaches, and the files
 * that these modules read. Tests and tools are not among them.
 * @throws Error when an import or a path leads to a missing file
 */
export function listProductFiles(): string[] {
  const files = new Set<string>(), waiting = [...ENTRIES];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (files.has(path)) continue;
    files.add(path);
    const code = stripComments(readFileSync(join(ROOT, path), "utf8"));
    const resolveFrom = (specifier: string) => normalize(join(dirname(path), specifier)).replaceAll(sep, "/");
    for (const [, plain, hidden] of code.matchAll(IMPORTS)) waiting.push(resolveFrom(plain ?? hidden));
    for (const [, read] of code.matchAll(READS)) for (const file of listRead(resolveFrom(read))) files.add(file);
  }
  return [...files].sort();
}

/** The documentation, which a package contains if it was built before. */
const BUILT_SITE = "site/dist/";

/** Returns the file, or all files below the folder that a page can load. */
function listRead(path: string): string[] {
  const found = join(ROOT, path);
  if (path === BUILT_SITE && !existsSync(found)) return [];
  // Only the base of other paths.
  if (path === "./") return [];
  if (!statSync(found).isDirectory()) return [path];
  return readdirSync(found, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.tsx?$|_test\.js$/.test(entry.name))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)).replaceAll(sep, "/"));
}
