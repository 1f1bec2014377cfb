import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

/** The value of a flag of a script: `--version 1.2.3`. */
export function readFlag(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

/** Writes the release that people see into a copy of the program. @throws Error where it is not found */
export function stampRelease(folder: string, version: string): void {
  if (!/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version)) throw new Error(`"${version}" is no version such as 1.2.3`);
  const file = join(folder, "common", "release.ts");
  const text = readFileSync(file, "utf8"), stamped = text.replace('RELEASE = "dev"', `RELEASE = "${version}"`);
  if (stamped === text) throw new Error(`${file} has no release to stamp`);
  writeFileSync(file, stamped);
}
