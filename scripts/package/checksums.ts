import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHECKSUMS } from "../../client/upgrade/mod.ts";

/**
 * Writes SHA-256 checksums for all release files in a folder, as does `sha256sum`.
 * @returns the checksums by file name
 */
export function writeChecksums(folder: string, version: string): Map<string, string> {
  const names = readdirSync(folder).filter((name) => name.startsWith(`portway-${version}`)).sort();
  const sums = new Map(names.map((name) => [name, hashFile(join(folder, name))]));
  writeFileSync(join(folder, CHECKSUMS), [...sums].map(([name, sum]) => `${sum}  ${name}\n`).join(""));
  return sums;
}

const hashFile = (file: string): string => createHash("sha256").update(readFileSync(file)).digest("hex");
