import type { Stats } from "node:fs";
import { foldName } from "../../../common/platform/mod.ts";

/** An entry of a folder: its name there, and what the system says of it. */
export interface NamedEntry {
  readonly name: string;
  readonly stat: Pick<Stats, "dev" | "ino" | "nlink" | "isDirectory">;
}

/**
 * Whether two names of one folder stand for one entry: names that differ in case only do, where the file system does
 * not tell cases apart. Numbers of files alone do not say so: those of Windows are longer than the numbers that we get,
 * so two files can seem to have one; and elsewhere one file can have two names.
 */
export function isSameEntry(a: NamedEntry, b: NamedEntry): boolean {
  const isOneNumber = a.stat.ino === b.stat.ino && a.stat.dev === b.stat.dev;
  // By the rules of the system that takes most for one, as a disk of any kind may be looked at here.
  const isOneName = foldName(a.name, "darwin") === foldName(b.name, "darwin");
  return isOneNumber && isOneName && (a.stat.isDirectory() || a.stat.nlink === 1);
}
