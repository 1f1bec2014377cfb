import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { flatten, loadPackages, type NpmPackage } from "./npm_packages.ts";
import { ROOT } from "./product_files.ts";

/**
 * Packages that go into modules of our own, with what they alone need: of some 8 MB in 15 packages, names for
 * databases, telemetry and clients of which nothing here is used, 1.6 MB are left.
 */
const JOINED = ["better-auth", "@better-auth/oauth-provider"];

/** Whether a name as it is imported is of a package that is joined. */
export const isJoined = (specifier: string): boolean =>
  JOINED.some((name) => specifier === name || specifier.startsWith(`${name}/`));

/** The folder of the package in which the joined modules lie, with what they were made of in `NOTICE`. */
const VENDOR = "vendor";

/**
 * Makes a module of every name of a joined package that the program imports, all from the same parts.
 * @param folder of the package
 * @param kept packages that are installed beside it, and stay imports
 * @returns the packages inside
 * @throws Error with what the bundler says, or when a part imports what is not there
 */
export function joinPackages(texts: readonly string[], folder: string, kept: readonly string[]): NpmPackage[] {
  const specifiers = findSpecifiers(texts), work = join(folder, VENDOR, "work"), out = join(folder, VENDOR);
  mkdirSync(work, { recursive: true });
  // On Windows a junction, which anybody may make; it means nothing elsewhere.
  symlinkSync(join(ROOT, "node_modules"), join(work, "node_modules"), "junction");
  writeFileSync(join(work, "deno.json"), readFileSync(join(ROOT, "deno.json")));
  const entries = specifiers.map((specifier) => {
    const entry = join(work, nameModule(specifier));
    writeFileSync(entry, `export * from ${JSON.stringify(specifier)};\n`);
    return entry;
  });
  const { success, stderr } = new Deno.Command(Deno.execPath(), {
    args: [
      "bundle",
      "--quiet",
      "--no-lock",
      "--code-splitting",
      "--platform=deno",
      `--outdir=${out}`,
      ...kept.map((name) => `--external=${name}`),
      ...entries,
    ],
    cwd: work,
    stderr: "piped",
  }).outputSync();
  if (!success) throw new Error(new TextDecoder().decode(stderr).trim());
  Deno.removeSync(work, { recursive: true });
  const inside = readInside(out);
  const packages = flatten(loadPackages(JOINED)).filter(({ name }) => inside.has(name) && !kept.includes(name));
  writeFileSync(join(out, "NOTICE"), packages.map(describe).join(`\n${"-".repeat(80)}\n\n`));
  return packages;
}

/** The text of a module of the package with its imports of joined packages led to the modules made of them. */
export function leadToJoined(text: string, path: string): string {
  return text.replace(IMPORT, (whole, before: string, specifier: string) => {
    if (!isJoined(specifier)) return whole;
    const to = relative(dirname(path), join(VENDOR, nameModule(specifier))).replaceAll("\\", "/");
    return `${before}"${to.startsWith(".") ? to : `./${to}`}"`;
  });
}

const IMPORT = /(\bfrom\s*|\bimport\s*|\bimport\(\s*)"([@a-z][^"]*)"/g;

/** Not those that are imported for their types alone. */
function findSpecifiers(texts: readonly string[]): string[] {
  const found = texts.flatMap((text) => {
    return [...text.replace(/^import type .*$/gm, "").matchAll(IMPORT)].map(([, , specifier]) => specifier);
  });
  return [...new Set(found.filter(isJoined))].sort();
}

/** `better-auth/plugins/jwt` becomes `better-auth-plugins-jwt.js`. */
const nameModule = (specifier: string): string => `${specifier.replace("@", "").replaceAll("/", "-")}.js`;

/** The bundler says before each part where it comes from: from which package, of that only the name stays. */
function readInside(folder: string): Set<string> {
  const names = new Set<string>();
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    const text = readFileSync(file, "utf8").replace(
      /^\/\/ .*\/node_modules\/((?:@[^/\n]+\/)?[^/\n]+)(\/.*)$/gm,
      (_, from: string, path: string) => {
        names.add(from);
        return `// ${from}${path}`;
      },
    );
    writeFileSync(file, text);
  }
  return names;
}

function describe({ name, version, path }: NpmPackage): string {
  const licence = readdirSync(path).find((file) => /^licen[cs]e/i.test(file));
  if (licence !== undefined) return `${name} ${version}\n\n${readFileSync(join(path, licence), "utf8").trim()}\n`;
  const manifest: { license?: string } = JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
  if (manifest.license === undefined || !existsSync(path)) throw new Error(`${name} has no licence`);
  return `${name} ${version}\n\nLicence: ${manifest.license}\n`;
}
