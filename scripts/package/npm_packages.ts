import { cpSync, existsSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./product_files.ts";

/** An npm package that the program needs. */
export interface NpmPackage {
  readonly name: string;
  readonly version: string;
  /** Its folder. */
  readonly path: string;
  /** Its installed dependencies. */
  readonly needs: readonly NpmPackage[];
}

interface Manifest {
  name: string;
  version: string;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

/** Files that no program loads: types, source maps, documents, tests. Licences are in another file. */
const UNUSED = /\.(?:map|d\.[cm]?ts|[cm]?tsx?|md|markdown|flow)$|\/(?:test|tests|__tests__|docs|example|examples)$/i;

/** Returns the installed packages that `deno.json` has under these names, with their dependencies. */
export function loadPackages(names: readonly string[]): NpmPackage[] {
  const known = new Map<string, NpmPackage>();
  return names.map((name) => loadPackage(realpathSync(join(ROOT, "node_modules", name)), known));
}

function loadPackage(path: string, known: Map<string, NpmPackage>): NpmPackage {
  const found = known.get(path);
  if (found !== undefined) return found;
  const manifest: Manifest = JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
  const needs: NpmPackage[] = [];
  const loaded = { name: manifest.name, version: manifest.version, path, needs };
  known.set(path, loaded);
  // The `node_modules` folder, in which its dependencies are.
  const folder = path.slice(0, path.length - manifest.name.length);
  const wanted = new Set([
    ...Object.keys(manifest.dependencies ?? {}),
    ...Object.keys(manifest.peerDependencies ?? {}),
  ]);
  for (const name of wanted) {
    // An optional peer may be missing.
    if (existsSync(join(folder, name))) {
      needs.push(loadPackage(realpathSync(join(folder, name)), known));
    }
  }
  return loaded;
}

/** Returns packages and all their dependencies, once each. */
export function flatten(packages: readonly NpmPackage[]): NpmPackage[] {
  const all = new Set<NpmPackage>();
  const visit = (one: NpmPackage) => {
    if (all.has(one)) return;
    all.add(one);
    one.needs.forEach(visit);
  };
  packages.forEach(visit);
  return [...all].sort((a, b) => a.name.localeCompare(b.name));
}

/**
 * Copies packages into a `node_modules` folder: each name once at the top, and a second version below its user.
 * @returns the names at the top
 */
export function copyPackages(packages: readonly NpmPackage[], folder: string): string[] {
  const top = new Map<string, NpmPackage>(packages.map((one) => [one.name, one]));
  for (const one of flatten(packages)) if (!top.has(one.name)) top.set(one.name, one);
  for (const one of top.values()) {
    copyPackage(one, join(folder, one.name));
    for (const other of one.needs.filter((need) => top.get(need.name) !== need)) {
      copyPackage(other, join(folder, one.name, "node_modules", other.name));
    }
  }
  return [...top.keys()].sort();
}

function copyPackage({ path }: NpmPackage, target: string): void {
  cpSync(path, target, {
    recursive: true,
    filter: (source) => !UNUSED.test(source.slice(path.length)) && source !== join(path, "node_modules"),
  });
}

/** Returns the packages that modules import, without the runtime's own. */
export function findPackageNames(texts: Iterable<string>): string[] {
  const names = new Set<string>();
  for (const text of texts) {
    for (const [, specifier] of text.matchAll(/(?:\bfrom|\bimport|\bimport\()\s*"([@a-z][^":]*)"/g)) {
      names.add(specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/"));
    }
  }
  return [...names].filter((name) => existsSync(join(ROOT, "node_modules", name, "package.json"))).sort();
}
