import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { ToolFailed } from "./run_tool.ts";

/** The value of a flag of a script: `--version 1.2.3`. */
export function readFlag(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

/** A flag has a value that cannot be used; the message says what is wanted. */
export class BadFlag extends Error {
  override readonly name = "BadFlag";
}

/** Runs a script to its exit code; a flag that cannot be used, or a program that is missing, is told in one line. */
export async function runScript(main: () => number | Promise<number>): Promise<number> {
  try {
    return await main();
  } catch (error) {
    if (!(error instanceof BadFlag || error instanceof ToolFailed)) throw error;
    process.stderr.write(`${error.message}\n`);
    return error instanceof BadFlag ? 2 : 1;
  }
}

/** The value of `--version`, or another when it is left out. @throws BadFlag */
export function readVersion(otherwise: string): string {
  const version = readFlag("--version") ?? otherwise;
  if (!RELEASE.test(version)) throw new BadFlag(`--version: "${version}" is no release such as 1.2.3`);
  return version;
}

const RELEASE = /^\d+\.\d+\.\d+(?:-[\w.]+)?$/;

/** Writes the release that people see into a copy of the program. @throws Error where it is not found */
export function stampRelease(folder: string, version: string): void {
  const file = join(folder, "common", "release.ts");
  const text = readFileSync(file, "utf8"), stamped = text.replace('RELEASE = "dev"', `RELEASE = "${version}"`);
  if (stamped === text) throw new Error(`${file} has no release to stamp`);
  writeFileSync(file, stamped);
}
