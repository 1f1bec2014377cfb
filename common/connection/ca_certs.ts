import { readFile } from "node:fs/promises";

/** A file of certificates that was named and cannot be used. */
export class CaCertsError extends Error {
  override name = "CaCertsError";
}

/**
 * Loads files of certificates to trust besides the usual ones, each one PEM text.
 * @param files as named by the user; empty names are skipped
 * @throws CaCertsError for a file that cannot be read or has no certificate in it
 */
export async function loadCaCerts(files: readonly (string | undefined)[]): Promise<string[]> {
  const named = files.filter((file): file is string => file !== undefined && file !== "");
  return await Promise.all([...new Set(named)].map(loadFile));
}

async function loadFile(file: string): Promise<string> {
  const text = await readFile(file, "utf8").catch((cause: Error) => {
    throw new CaCertsError(`cannot read the certificates in "${file}": ${cause.message}`, { cause });
  });
  if (!text.includes("-----BEGIN CERTIFICATE-----")) {
    throw new CaCertsError(`cannot use the certificates in "${file}": there is none in PEM form`);
  }
  return text;
}
