import fs from "node:fs";
import path from "node:path";
import { foldName, isShortName } from "../../../common/platform/mod.ts";
import type { DiskSystem } from "./system.ts";

/**
 * Finds the stored name of an entry. File systems also find entries by other case, other Unicode forms, or the short
 * name `ENV~1` that Windows and FAT keep for `.env`. Name rules apply to the stored name.
 * @param listNames lists the folder's names; called only without a cheaper way
 * @returns `name` itself for a missing entry, null when the stored name is unknown
 */
export function findOwnName(
  folder: string,
  name: string,
  { platform, hasDescriptorPaths, realPath, mayHaveShortNames }: DiskSystem,
  listNames: () => readonly string[],
): string | null {
  const entry = `${folder}/${name}`;
  // Linux is case-sensitive and delegates other cases to the disk. For FAT it returns the name unchanged.
  if (hasDescriptorPaths) {
    const mayBeOther = isShortName(name) && exists(entry) && mayHaveShortNames(folder);
    return !mayBeOther || listNames().includes(name) ? name : null;
  }
  const stat = fs.lstatSync(entry, { throwIfNoEntry: false });
  if (stat === undefined) return name;
  if (!stat.isSymbolicLink()) return path.basename(realPath(entry));
  const names = listNames(), folded = foldName(name, platform);
  return names.find((own) => own === name) ?? names.find((own) => foldName(own, platform) === folded) ?? null;
}

function exists(entry: string): boolean {
  return fs.lstatSync(entry, { throwIfNoEntry: false }) !== undefined;
}
