import fs from "node:fs";

/** Linux's numbers (linux/magic.h) of file systems that find an entry by its own name alone. */
const ONE_NAME: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x9123683e, // btrfs
  0x58465342, // xfs
  0x01021994, // tmpfs
  0x2fc12fc1, // zfs
  0xf2f52010, // f2fs
]);

/**
 * Whether the file system of a folder may find an entry by a second, short name too, as NTFS and FAT do wherever they
 * are mounted; so too where it is not known, as of a network share.
 * @param type the number of a folder's file system; throws the system's error
 */
export function mayHaveShortNames(folder: string, type: (folder: string) => number = readType): boolean {
  try {
    // Above 2^31 some runtimes give it as a negative number.
    return !ONE_NAME.has(type(folder) >>> 0);
  } catch {
    return true;
  }
}

const readType = (folder: string): number => fs.statfsSync(folder).type;
