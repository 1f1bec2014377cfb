import type { Stats } from "node:fs";
import { foldName } from "../../../common/platform/mod.ts";

/** An entry in a folder: its name and its metadata. */
export interface NamedEntry {
  readonly name: string;
  readonly stat: Pick<Stats, "dev" | "ino" | "nlink" | "isDirectory">;
}

/**
 * Checks whether two names in a folder refer to the same entry, as names that differ only in case do on
 * case-insensitive file systems. File ids alone are not sufficient: Windows ids exceed a double's precision, and
 * elsewhere hard links share an id.
 */
export function isSameEntry(a: NamedEntry, b: NamedEntry): boolean {
  const isOneNumber = a.stat.ino === b.stat.ino && a.stat.dev === b.stat.dev;
  // The folding rules of macOS are the broadest, and the disk may have any file system.
  const isOneName = foldName(a.name, "darwin") === foldName(b.name, "darwin");
  return isOneNumber && isOneName && (a.stat.isDirectory() || a.stat.nlink === 1);
}
