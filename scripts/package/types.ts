import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "./product_files.ts";

const ENTRIES = ["mod", "server", "cli"];

/**
 * Writes the types of the entries, and of every module that these name, beside the JavaScript of a package.
 * @throws Error with what the compiler says when it writes none
 */
export function emitTypes(stage: string, folder: string): void {
  // On Windows a junction, which anybody may make; it means nothing elsewhere.
  symlinkSync(join(ROOT, "node_modules"), join(stage, "node_modules"), "junction");
  const out = mkdtempSync(join(stage, "types-"));
  writeFileSync(
    join(stage, "tsconfig.json"),
    JSON.stringify({ compilerOptions: { ...OPTIONS, outDir: out }, files: ENTRIES.map((name) => `${name}.ts`) }),
  );
  const args = [join(ROOT, "node_modules", "typescript", "bin", "tsc"), "--project", stage];
  const { stdout } = spawnSync(Deno.execPath(), ["run", "-A", ...args], { encoding: "utf8", cwd: stage });
  for (const name of ENTRIES) {
    if (!existsSync(join(out, `${name}.d.ts`))) throw new Error(`tsc wrote no ${name}.d.ts: ${stdout.slice(0, 2000)}`);
  }
  copyReachable(out, folder);
  rmSync(out, { recursive: true });
}

/** Errors are not its business: Deno has checked the code, with types of its own that tsc does not know. */
const OPTIONS = {
  target: "esnext",
  module: "nodenext",
  moduleResolution: "nodenext",
  lib: ["esnext", "dom", "dom.iterable", "dom.asynciterable"],
  jsx: "react-jsx",
  jsxImportSource: "hono/jsx",
  strict: true,
  declaration: true,
  emitDeclarationOnly: true,
  noEmitOnError: false,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
  stripInternal: true,
};

/** What a program that imports the package can come to see. */
function copyReachable(out: string, folder: string): void {
  const waiting = ENTRIES.map((name) => `${name}.d.ts`), seen = new Set<string>();
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    const text = readFileSync(join(out, path), "utf8");
    const here = path;
    const written = text.replace(/(\bfrom |\bimport\()"(\.[^"]+)\.tsx?"/g, (_, before: string, name: string) => {
      waiting.push(join(dirname(here), `${name}.d.ts`));
      return `${before}"${name}.js"`;
    });
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), written);
  }
}
