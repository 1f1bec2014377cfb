import { readFile } from "node:fs/promises";
import { OptionError } from "../../common/options.ts";
import { decodeText } from "../../common/platform/mod.ts";

/**
 * Loads files with additional trusted certificates in PEM.
 * @param files by the flag or variable that names them; empty names are skipped
 * @throws OptionError for a file that cannot be read or contains no certificate
 */
export async function loadCaCerts(files: Readonly<Record<string, string | null | undefined>>): Promise<string[]> {
  const sources = new Map<string, string>();
  for (const [source, file] of Object.entries(files)) if (file && !sources.has(file)) sources.set(file, source);
  return await Promise.all(Array.from(sources, ([file, source]) => loadFile(file, source)));
}

async function loadFile(file: string, source: string): Promise<string> {
  const text = await readFile(file).then(decodeText, (cause: Error) => {
    throw new OptionError(`${source}: cannot read the certificates in "${file}": ${cause.message}`, { cause });
  });
  if (!text.includes("-----BEGIN CERTIFICATE-----")) {
    throw new OptionError(`${source}: cannot use the certificates in "${file}": there is none in PEM form`);
  }
  return text;
}
