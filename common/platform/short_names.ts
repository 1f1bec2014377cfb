import fs from "node:fs";

/** Linux's numbers (linux/magic.h) for file systems without short names. */
const ONE_NAME: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x9123683e, // btrfs
  0x58465342, // xfs
  0x01021994, // tmpfs
  0x2fc12fc1, // zfs
  0xf2f52010, // f2fs
]);

/**
 * Reports whether a folder's file system may have short names, as NTFS and FAT do. Unknown file systems, such as
 * network shares, count as such.
 * @param type returns the file system's number; throws the system's error
 */
export function mayHaveShortNames(folder: string, type: (folder: string) => number = readType): boolean {
  try {
    // Some runtimes return numbers above 2^31 as negative.
    return !ONE_NAME.has(type(folder) >>> 0);
  } catch {
    return true;
  }
}

const readType = (folder: string): number => fs.statfsSync(folder).type;
