import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import type { Build, ReleaseForm } from "../../common/release.ts";
import { readSourceVersion } from "../../common/source_version.ts";
import { ToolFailed } from "./run_tool.ts";

/** Returns a flag's value, as in `--version 1.2.3`. */
export function readFlag(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

/** A flag has a value that the script cannot use; the message names the expected form. */
export class BadFlag extends Error {
  override readonly name = "BadFlag";
}

/** Returns a script's exit code, and prints one line for a bad flag or a failed program. */
export async function runScript(main: () => number | Promise<number>): Promise<number> {
  try {
    return await main();
  } catch (error) {
    if (!(error instanceof BadFlag || error instanceof ToolFailed)) throw error;
    process.stderr.write(`${error.message}\n`);
    return error instanceof BadFlag ? 2 : 1;
  }
}

/**
 * Returns the facts that a build script writes into the program: `--version`, `--releases` and `--key`. Without a
 * version the build is a commit between releases.
 * @throws BadFlag
 */
export function readBuild(form: ReleaseForm): Build {
  const version = readFlag("--version") ?? readSourceVersion();
  if (!VERSION.test(version)) throw new BadFlag(`--version: "${version}" is no release such as 1.2.3`);
  const releases = readFlag("--releases") || null, key = readFlag("--key") || null;
  if ((releases === null) !== (key === null)) throw new BadFlag("--releases and --key: give both or none");
  if (releases !== null && !URL.canParse(releases)) throw new BadFlag(`--releases: "${releases}" is no URL`);
  if (key !== null && !KEY.test(key)) throw new BadFlag(`--key: "${key}" is no minisign public key`);
  return { version, form, releases, key };
}

const VERSION = /^\d+\.\d+\.\d+(?:-[\w.]+)?$/;
/** A public key file's second line: 42 bytes in base64, whose first two are `Ed`. */
const KEY = /^RW[A-Za-z0-9+/]{54}$/;

/** Writes the facts about a build into the program's copy. @throws Error if that has no line for them */
export function stampBuild(folder: string, build: Build): void {
  const file = join(folder, "common", "release.ts"), text = readFileSync(file, "utf8");
  const stamped = text.replace(/^(export const BUILD: Build = ).*$/m, (_, start: string) => {
    return `${start}${JSON.stringify(build)};`;
  });
  if (stamped === text) throw new Error(`${file} has no line for the facts about a build`);
  writeFileSync(file, stamped);
}
