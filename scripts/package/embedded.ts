import type { Buffer } from "node:buffer";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { LICENCES_FILE } from "./licences.ts";
import { LATER, listProductFiles, ROOT } from "./product_files.ts";

/** The compiler writes this mark, then JSON with settings, JSON with a file list, and their bytes. */
const MARK = "d3n0l4nd";

interface EmbeddedFile {
  n: string;
  /** Offset and length of its bytes. */
  o: [number, number];
}

type Entry = { File: EmbeddedFile } | { Dir: { n: string; e: Entry[] } };

/**
 * Returns the files inside an executable by their paths from the entry's folder.
 * @throws Error for an executable without embedded files
 */
export function readEmbedded(executable: Buffer): Map<string, Buffer> {
  const mark = executable.lastIndexOf(MARK + MARK);
  if (mark < 0) throw new Error("the executable embeds no files");
  const settings = mark + 2 * MARK.length, start = executable.indexOf('[{"', settings + 8 + size(executable, settings));
  const end = start + size(executable, start - 8), first = end + 8;
  const entries: Entry[] = JSON.parse(executable.toString("utf8", start, end));
  const found = new Map<string, Buffer>();
  const take = (entry: Entry, folder: string): void => {
    if ("Dir" in entry) return entry.Dir.e.forEach((inner) => take(inner, `${folder}${entry.Dir.n}/`));
    if (!("File" in entry)) return;
    const { n, o: [at, length] } = entry.File;
    found.set(folder + n, executable.subarray(first + at, first + at + length));
  };
  entries.forEach((entry) => take(entry, ""));
  return found;
}

const size = (bytes: Buffer, at: number): number => Number(bytes.readBigUInt64LE(at));

/** Writes embedded files into a folder. */
export function unpackEmbedded(files: ReadonlyMap<string, Buffer>, folder: string): void {
  for (const [path, bytes] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), bytes);
  }
}

/**
 * Returns paths that an executable lacks, or embeds with other bytes.
 * @param wanted from {@link listWanted}
 * @param folder the files that were to be embedded
 */
export function findMissing(
  embedded: ReadonlyMap<string, Buffer>,
  wanted: readonly string[],
  folder: string,
): string[] {
  return wanted.filter((path) => {
    const bytes = embedded.get(path);
    return bytes === undefined || !bytes.equals(readFileSync(join(folder, path)));
  });
}

/**
 * Returns all paths that the program can load: the modules that `cli.ts` imports at once or later, the
 * files for its pages, and packages without their types.
 * @param folder the compiled package
 * @throws Error for a file that the folder lacks
 */
export function listWanted(folder: string): string[] {
  const product = listProductFiles();
  const modules = findModules(product).map((path) => path.replace(/\.tsx?$/, ".js"));
  const assets = product.filter((path) => !/\.tsx?$/.test(path));
  const packages = ["node_modules", "vendor"].flatMap((name) => listFiles(join(folder, name)))
    .map((file) => relative(folder, file).replaceAll("\\", "/"));
  const wanted = [...new Set([...modules, ...assets, ...packages, LICENCES_FILE, "package.json"])].sort();
  for (const path of wanted) statSync(join(folder, path));
  return wanted;
}

function listFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

interface Graph {
  modules: { specifier: string; error?: string; dependencies?: { code?: { specifier?: string } }[] }[];
}

/** Returns the modules that Deno itself finds, from the entry and from each module that `later` imports. */
function findModules(product: readonly string[]): string[] {
  const later = product.filter((path) => /\.tsx?$/.test(path)).flatMap((path) => {
    const named = [...readFileSync(join(ROOT, path), "utf8").matchAll(LATER)];
    return named.map(([, specifier]) => join(dirname(path), specifier));
  });
  // This file imports the program.
  const work = mkdtempSync(join(tmpdir(), "portway-graph-")), entry = join(work, "entry.ts");
  const starts = ["cli.ts", ...later.filter((path) => product.includes(path))];
  writeFileSync(entry, starts.map((path) => `import "${pathToFileURL(join(ROOT, path)).href}";\n`).join(""));
  try {
    const { success, stdout, stderr } = new Deno.Command(Deno.execPath(), {
      args: ["info", "--quiet", "--json", "--config", join(ROOT, "deno.json"), entry],
      cwd: ROOT,
    }).outputSync();
    if (!success) throw new Error(new TextDecoder().decode(stderr));
    return walk(JSON.parse(new TextDecoder().decode(stdout)), pathToFileURL(entry).href);
  } finally {
    rmSync(work, { recursive: true });
  }
}

/** Returns module paths, without type imports. */
function walk({ modules }: Graph, entry: string): string[] {
  const known = new Map(modules.map((module) => [module.specifier, module])), root = pathToFileURL(ROOT).href;
  const seen = new Set<string>(), waiting = [entry];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const module = known.get(next);
    if (seen.has(next) || module === undefined) continue;
    if (module.error !== undefined) throw new Error(`${next}: ${module.error}`);
    seen.add(next);
    waiting.push(...(module.dependencies ?? []).flatMap(({ code }) => code?.specifier ?? []));
  }
  seen.delete(entry);
  return [...seen].filter((url) => url.startsWith(root) && !url.includes("/node_modules/"))
    .map((url) => decodeURI(url.slice(root.length)));
}
