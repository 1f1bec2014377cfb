import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { flatten, loadPackages, type NpmPackage } from "./npm_packages.ts";
import { ROOT } from "./product_files.ts";

/**
 * Packages that become program modules, together with dependencies that only they need. Databases, telemetry and
 * clients that the program does not use are left out: 1.6 MB remain from 8 MB in 15 packages. `qrcode` becomes 55 kB
 * without its writers of images and files.
 */
const JOINED = ["better-auth", "@better-auth/oauth-provider", "qrcode"];

/** Returns whether an import's specifier names a joined package. */
export const isJoined = (specifier: string): boolean =>
  JOINED.some((name) => specifier === name || specifier.startsWith(`${name}/`));

/** The folder for joined modules. */
const VENDOR = "vendor";

/**
 * Writes a module for each joined specifier that the program imports. The modules share their parts.
 * @param folder the package's folder
 * @param kept packages in `node_modules`, which remain imports
 * @returns the joined packages
 * @throws Error with the bundler's message
 */
export function joinPackages(texts: readonly string[], folder: string, kept: readonly string[]): NpmPackage[] {
  const specifiers = findSpecifiers(texts), work = join(folder, VENDOR, "work"), out = join(folder, VENDOR);
  mkdirSync(work, { recursive: true });
  // On Windows a junction needs no rights; other systems ignore the type.
  symlinkSync(join(ROOT, "node_modules"), join(work, "node_modules"), "junction");
  writeFileSync(join(work, "deno.json"), readFileSync(join(ROOT, "deno.json")));
  const entries = specifiers.map((specifier) => {
    const entry = join(work, nameModule(specifier));
    // A CommonJS module has a default export only.
    const names = specifier.startsWith("qrcode/") ? "{ default }" : "*";
    writeFileSync(entry, `export ${names} from ${JSON.stringify(specifier)};\n`);
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
  return flatten(loadPackages(JOINED)).filter(({ name }) => inside.has(name) && !kept.includes(name));
}

/** Returns a module's text in which imports from joined packages name modules in the package instead. */
export function redirectToJoined(text: string, path: string): string {
  return text.replace(IMPORT, (whole, before: string, specifier: string) => {
    if (!isJoined(specifier)) return whole;
    const to = relative(dirname(path), join(VENDOR, nameModule(specifier))).replaceAll("\\", "/");
    return `${before}"${to.startsWith(".") ? to : `./${to}`}"`;
  });
}

const IMPORT = /(\bfrom\s*|\bimport\s*|\bimport\(\s*)"([@a-z][^"]*)"/g;

/** Returns joined specifiers, without type imports. */
function findSpecifiers(texts: readonly string[]): string[] {
  const found = texts.flatMap((text) => {
    return [...text.replace(/^import type .*$/gm, "").matchAll(IMPORT)].map(([, , specifier]) => specifier);
  });
  return [...new Set(found.filter(isJoined))].sort();
}

/** `better-auth/plugins/jwt` becomes `better-auth-plugins-jwt.js`. */
const nameModule = (specifier: string): string =>
  `${specifier.replace("@", "").replace(/\.js$/, "").replaceAll("/", "-")}.js`;

/** Returns the packages that the bundler names before each part, and removes this machine's paths there. */
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
