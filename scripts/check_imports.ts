/**
 * Checks the import direction from ARCHITECTURE.md. Prints one line per violation and exits with 1 after any.
 *
 * The rules, for every .ts, .tsx and .js file outside tests:
 * - A file imports units from lower rows and files in its own unit, never another unit in its row or a row above.
 * - server/ and client/ never import each other; only entry files and tools know both.
 * - A folder with a `mod.ts` is entered from outside through that file alone; `_` files belong to their folder.
 * - No import cycles between files.
 * - Inside a client/ area, a file in a sub-folder does not import a file from the area's own folder above.
 * - An import by `later` is typed as the same file.
 * - `Deno.*` appears only in drivers (files named deno.ts), entry files and tools.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative, sep } from "node:path";
import { exit, stderr } from "node:process";

/** Rows from top to bottom. Units in a row cannot import each other, except tools, which may import anything. */
const ROWS: readonly (readonly string[])[] = [
  ["scripts", "bench", "tests"],
  ["server.ts", "cli.ts", "mod.ts"],
  ["server/*", "client/*"],
  ["server/hq", "server/docs", "client/site"],
  [
    "server/accounts",
    "server/captures",
    "server/relay",
    "server/proxy",
    "client/tunnel",
    "client/files",
    "client/login",
    "client/persistent",
    "client/upgrade",
    "client/views",
  ],
  [
    "server/store",
    "server/cluster",
    "server/http",
    "server/access",
    "server/guard",
    "server/config.ts",
    "client/api",
    "client/terminal",
    "client/config.ts",
  ],
  ["protocol", "common/captures", "web"],
  ["net"],
  ["common"],
  ["web/styles"],
];
/** Folders of the composition, where there are too many files for one. */
const COMPOSED: ReadonlySet<string> = new Set([
  "server/api",
  "server/open",
  "server/serving",
  "client/actions",
  "client/expose",
]);
/**
 * Rooms inside server areas, in rows from top to bottom: a room imports rooms in rows below its own. Rooms joined by "+"
 * form one room. Files in the area's own folder are outside the rows.
 */
const ROOMS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  "server/relay": [["api"], ["management", "visit"], ["session"], ["tunnel"]],
  "server/captures": [["api"], ["service+replay"], ["receive"]],
  "server/proxy": [["form"], ["routes"], ["describe+perform+responses"]],
  "server/accounts": [["forms"], ["better_auth"]],
  "server/hq": [["account", "admin", "consent", "docs", "start", "views"], ["entry", "tunnels"], ["ui"]],
};
const TOOLS_ROW = 0;
const ENTRY_ROW = 1;

interface Unit {
  name: string;
  row: number;
  side: "server" | "client" | "both";
}

const UNITS = new Map(ROWS.flatMap((names, row) => names.map((name) => [name, createUnit(name, row)] as const)));

function createUnit(name: string, row: number): Unit {
  const side = name.startsWith("server/") ? "server" : name.startsWith("client/") ? "client" : "both";
  return { name, row, side };
}

/**
 * Every violation in the tree under `root`, as sentences that start with the file.
 * @param files text of each file by its path relative to the root, with forward slashes
 */
export function findViolations(files: ReadonlyMap<string, string>): string[] {
  const imports = new Map<string, string[]>();
  const violations: string[] = [];
  for (const [file, text] of files) {
    if (isTest(file)) continue;
    const code = stripComments(text);
    const targets = findImports(code).map((specifier) =>
      normalize(join(dirname(file), specifier)).replaceAll(sep, "/")
    );
    imports.set(file, targets);
    const unit = findUnit(file);
    if (unit === null) {
      violations.push(
        `${file}: is in no unit of the import table; add its folder to a row of scripts/check_imports.ts`,
      );
      continue;
    }
    for (const target of targets) {
      const reason = checkDirection(unit, target) ?? checkFrontDoor(file, target, files) ?? checkRoom(file, target) ??
        checkServerRooms(file, target);
      if (reason !== null) violations.push(`${file}: imports ${target}: ${reason}`);
    }
    for (const specifier of findUntyped(code)) {
      violations.push(`${file}: imports ${specifier} by later() without ": typeof import(\"${specifier}\")" before it`);
    }
    if (usesDeno(code) && !mayUseDeno(file, unit)) {
      violations.push(`${file}: uses Deno.*, which only deno.ts drivers, entry files and tools may: use node: modules`);
    }
  }
  return [...violations, ...findCircles(imports)];
}

function isTest(file: string): boolean {
  return /_test\.(tsx?|js)$/.test(file) || file.startsWith("tests/");
}

/** Returns the unit with the longest matching name. Files directly in server/ or client/ belong to the composition. */
function findUnit(file: string): Unit | null {
  const [first, second, third] = file.split("/");
  const named = UNITS.get(`${first}/${second}`) ?? UNITS.get(first);
  if (named !== undefined) return named;
  const isComposed = second !== undefined && (third === undefined || COMPOSED.has(`${first}/${second}`));
  return (isComposed && UNITS.get(`${first}/*`)) || null;
}

function checkDirection(unit: Unit, target: string): string | null {
  if (target.startsWith("../")) return "it lies outside the project";
  if (unit.row === TOOLS_ROW) return null;
  if (isTest(target)) return "only tests import tests";
  const other = findUnit(target);
  if (other === null) return "it is in no unit of the import table";
  if (other === unit) return null;
  if (unit.side !== "both" && other.side !== "both" && unit.side !== other.side) {
    return `${unit.side} and ${other.side} never import each other`;
  }
  if (other.row === unit.row) return `${unit.name} and ${other.name} are of one row; compose them one row above`;
  if (other.row < unit.row) return `${other.name} is above ${unit.name}`;
  return null;
}

function checkFrontDoor(file: string, target: string, files: ReadonlyMap<string, string>): string | null {
  const parts = target.split("/");
  for (let depth = 0; depth < parts.length; depth++) {
    const folder = parts.slice(0, depth).join("/");
    const isInside = folder === "" || file.startsWith(`${folder}/`);
    if (isInside) continue;
    if (parts[depth].startsWith("_")) return `"${parts[depth]}" is private to ${folder}/`;
    const door = `${folder}/mod.ts`;
    if (target !== door && files.has(door)) return `${folder}/ is entered through its mod.ts`;
  }
  return null;
}

/** Areas of the client are composed by the files of their own folder; sub-folders are rooms that these files use. */
function checkRoom(file: string, target: string): string | null {
  const [side, area, ...rest] = target.split("/");
  const isRoom = side === "client" && rest.length === 1 && file.split("/").length > 3;
  return isRoom && file.startsWith(`client/${area}/`) ? `it is above the room ${dirname(file)}/` : null;
}

/** Checks the direction between two rooms of one server area by {@link ROOMS}. */
function checkServerRooms(file: string, target: string): string | null {
  const area = file.split("/", 2).join("/"), rows = ROOMS[area];
  if (rows === undefined || !target.startsWith(`${area}/`)) return null;
  const from = roomOf(file), to = roomOf(target);
  if (from === null || to === null || from === to) return null;
  const find = (room: string) => {
    const row = rows.findIndex((names) => names.some((name) => name.split("+").includes(room)));
    return { row, name: rows[row]?.find((name) => name.split("+").includes(room)) };
  };
  const one = find(from), other = find(to);
  if (one.row < 0 || other.row < 0) return `${area}/${one.row < 0 ? from : to} is in no row of ROOMS`;
  if (one.name === other.name || one.row < other.row) return null;
  return `the room ${to} is ${one.row === other.row ? "in the row of" : "above"} ${from} in ${area}`;
}

/** Returns the folder of an area's file, or null for a file in the area's own folder. */
function roomOf(path: string): string | null {
  const parts = path.split("/");
  return parts.length > 3 ? parts[2] : null;
}

function usesDeno(code: string): boolean {
  return /\bDeno\s*(\?\.|\.|\[)|\bglobalThis\.Deno\b/.test(code);
}

function mayUseDeno(file: string, unit: Unit): boolean {
  return unit.row === TOOLS_ROW || unit.row === ENTRY_ROW || /(^|\/)deno\.ts$/.test(file);
}

/** Comments start at a line's start or after white space here: `deno fmt` writes them so, and "text/*" stays whole. */
export function stripComments(text: string): string {
  return text.replace(/(^|[\s(,{])\/\*[\s\S]*?\*\//g, "$1").replace(/(^|\s)\/\/.*$/gm, "$1");
}

/** Relative specifiers of static imports, re-exports, `import("...")` and types taken by it. */
function findImports(code: string): string[] {
  const pattern =
    /^\s*import\s*["']([^"']+)["']|^\s*(?:import|export)\b[^;"'`]*?\bfrom\s*["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']/gm;
  return [...code.matchAll(pattern)]
    .map(([, bare, from, dynamic]) => bare ?? from ?? dynamic)
    .filter((specifier) => specifier.startsWith("."));
}

/** Imports by `later` without the type of the same file. */
function findUntyped(code: string): string[] {
  return [...code.matchAll(/(?:: typeof import\("([^"]*)"\) = await import\()?\blater\("([^"]*)"\)/g)]
    .filter(([, typed, specifier]) => typed !== specifier).map(([, , specifier]) => specifier);
}

/** Each cycle once, from the file where the walk met it. */
function findCircles(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const circles: string[] = [];
  const finished = new Set<string>();
  const path: string[] = [];
  const walk = (file: string): void => {
    if (finished.has(file)) return;
    const start = path.indexOf(file);
    if (start >= 0) {
      circles.push(`${file}: imports itself in a circle: ${[...path.slice(start), file].join(" -> ")}`);
      return;
    }
    path.push(file);
    for (const target of imports.get(file) ?? []) walk(target);
    path.pop();
    finished.add(file);
  };
  for (const file of imports.keys()) walk(file);
  return circles;
}

const SKIPPED_FOLDERS = new Set(["node_modules", "testdata", "dist", ".git"]);

/** The source files below `root`, by their path relative to it. */
export function loadSources(root: string): Map<string, string> {
  const files = new Map<string, string>();
  const visit = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory() && !SKIPPED_FOLDERS.has(entry.name) && !entry.name.startsWith(".")) visit(path);
      else if (entry.isFile() && /\.(tsx?|js)$/.test(entry.name)) {
        files.set(relative(root, path).replaceAll(sep, "/"), readFileSync(path, "utf8"));
      }
    }
  };
  visit(root);
  return files;
}

if (import.meta.main) {
  const files = loadSources(join(import.meta.dirname ?? ".", ".."));
  const violations = findViolations(files);
  for (const violation of violations) stderr.write(`${violation}\n`);
  if (violations.length > 0) exit(1);
}
