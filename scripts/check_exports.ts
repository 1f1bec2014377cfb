/**
 * Checks the program's exports. Prints one line per violation and exits with 1 after any.
 *
 * - Every exported symbol has a doc comment right above it.
 * - Another file imports it. A type may instead serve the signatures beside it, or be behind a front door.
 *
 * Tools and tests export freely, and their imports count as uses. The root's `mod.ts` is the library.
 */
import { join, posix } from "node:path";
import { exit, stderr } from "node:process";
import { loadSources, stripComments } from "./check_imports.ts";

const PRODUCT = /^(?:(?:server|client|common|net|protocol|web)\/(?!.*_test\.(?:tsx?|js)$)|(?:mod|cli|server)\.ts$)/;
const LIBRARY = "mod.ts";

/** `deno fmt` puts exports at the beginning of a line. */
const DECLARATION =
  /(\*\/\n)?^export (?:default )?(?:async )?(?:abstract )?(?:function\*?|class|const|let|enum|(interface|type)) (\w+)/gm;
const NAMED = /^(?:import|export)( type)? (?:\w+, )?\{([^}]*)\} from "(\.[^"]+)"/gm;
const STARRED = /^export \* from "(\.[^"]+)"/gm;
/** Whole modules: `import * as`, dynamic imports, and `later` with its type. */
const WHOLE = /^import \* as \w+ from "(\.[^"]+)"|\bimport\(\s*"(\.[^"]+)"/gm;

interface Export {
  isType: boolean;
  hasDoc: boolean;
}

interface Trade {
  /** By file and name. */
  exports: Map<string, Map<string, Export>>;
  /** `file#name` for each name that another file imports or passes on. */
  taken: Set<string>;
  /** Files that import the module whole, and files that re-export all of it. */
  takers: Map<string, string[]>;
  passers: Map<string, string[]>;
}

/**
 * Every violation, as sentences that start with the file.
 * @param files text of each file by its path relative to the root, with forward slashes
 */
export function findExportViolations(files: ReadonlyMap<string, string>): string[] {
  const trade = readTrade(files);
  const violations: string[] = [];
  for (const [file, exports] of trade.exports) {
    if (!PRODUCT.test(file)) continue;
    for (const [name, { isType, hasDoc }] of exports) {
      if (!hasDoc) violations.push(`${file}: exports ${name} without a doc comment right above it`);
      if (file === LIBRARY || isTaken(file, name, trade, files)) continue;
      if (isType && countWord(name, stripComments(files.get(file) ?? "")) > 1) continue;
      violations.push(`${file}: exports ${name}, which no other file imports`);
    }
  }
  return violations;
}

function readTrade(files: ReadonlyMap<string, string>): Trade {
  const trade: Trade = { exports: new Map(), taken: new Set(), takers: new Map(), passers: new Map() };
  for (const [file, text] of files) {
    const resolve = (specifier: string) => posix.join(posix.dirname(file), specifier);
    const exports = new Map<string, Export>();
    trade.exports.set(file, exports);
    for (const [, doc, type, name] of text.matchAll(DECLARATION)) {
      // One doc comment suffices for all signatures of a function.
      exports.set(name, {
        isType: type !== undefined,
        hasDoc: doc !== undefined || exports.get(name)?.hasDoc === true,
      });
    }
    for (const [statement, types, list, specifier] of text.matchAll(NAMED)) {
      for (const { isType, name, alias } of splitNames(list)) {
        trade.taken.add(`${resolve(specifier)}#${name}`);
        const isPassedOn = statement.startsWith("export") && types === undefined && !isType;
        if (isPassedOn) exports.set(alias, { isType: false, hasDoc: true });
      }
    }
    for (const [, starred, dynamic] of text.matchAll(WHOLE)) add(trade.takers, resolve(starred ?? dynamic), file);
    for (const [, specifier] of text.matchAll(STARRED)) add(trade.passers, resolve(specifier), file);
  }
  return trade;
}

/** The names in `{ a, type B, c as d }`. */
function splitNames(list: string): { isType: boolean; name: string; alias: string }[] {
  return [...list.matchAll(/(type )?(\w+)(?: as (\w+))?/g)]
    .map(([, type, name, alias]) => ({ isType: type !== undefined, name, alias: alias ?? name }));
}

function add(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

/** An importer of the whole module uses the names that occur in its text. */
function isTaken(file: string, name: string, trade: Trade, files: ReadonlyMap<string, string>): boolean {
  return trade.taken.has(`${file}#${name}`) ||
    (trade.takers.get(file) ?? []).some((taker) => countWord(name, files.get(taker) ?? "") > 0) ||
    (trade.passers.get(file) ?? []).some((passer) => isTaken(passer, name, trade, files));
}

/** How often a name is written. */
function countWord(name: string, text: string): number {
  return [...text.matchAll(new RegExp(`\\b${name}\\b`, "g"))].length;
}

if (import.meta.main) {
  const violations = findExportViolations(loadSources(join(import.meta.dirname ?? ".", "..")));
  for (const violation of violations) stderr.write(`${violation}\n`);
  if (violations.length > 0) exit(1);
}
