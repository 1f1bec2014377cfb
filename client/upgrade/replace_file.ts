import { existsSync, linkSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import process from "node:process";

/** The ending under which the replaced program remains. */
const OLD = ".old";
/** The beginning of a downloaded file's name, beside the program: a rename within a folder is atomic. */
const FRESH = ".portway-upgrade-";

/** Returns an unused path beside a program, and removes files that a killed upgrade left there. */
export function prepareFresh(file: string): string {
  const folder = dirname(file);
  for (const name of readdirSync(folder).filter((entry) => entry.startsWith(FRESH))) {
    rmSync(join(folder, name), { force: true });
  }
  return join(folder, `${FRESH}${process.pid}-${basename(file)}`);
}

/**
 * Replaces a program. The path leads to the old or the new program at every moment; on Windows, which cannot overwrite a
 * running program, it leads to none between two renames.
 * @returns the path under which the old program remains
 * @throws the system's error; the path then leads to the old program
 */
export function replaceFile(file: string, fresh: string, platform: string = process.platform): string {
  const old = `${file}${OLD}`;
  if (platform === "win32") {
    rmSync(old, { force: true });
    renameSync(file, old);
    try {
      renameSync(fresh, file);
    } catch (error) {
      renameSync(old, file);
      throw error;
    }
    return old;
  }
  if (existsSync(old)) rmSync(old);
  linkSync(file, old);
  renameSync(fresh, file);
  return old;
}
