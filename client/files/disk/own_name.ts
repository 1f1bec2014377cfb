import fs from "node:fs";
import path from "node:path";
import { foldName, isShortName } from "../../../common/platform/mod.ts";
import type { DiskSystem } from "./system.ts";

/**
 * The name that an entry of a folder has, which file systems find by other names too: in another case, with its accents
 * written otherwise, by the short name `ENV~1` that Windows and FAT keep of `.env`. Rules about names hold for this one.
 * @param listNames the names in the folder; asked only when there is no cheaper way
 * @returns `name` itself when nothing is there, null when it cannot be told
 */
export function findOwnName(
  folder: string,
  name: string,
  { platform, hasDescriptorPaths, realPath, mayHaveShortNames }: DiskSystem,
  listNames: () => readonly string[],
): string | null {
  const entry = `${folder}/${name}`;
  // Linux tells cases apart, and asks the disk for the rest: of a stick with FAT it gives a name back as it was asked.
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
