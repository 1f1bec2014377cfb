import fs from "node:fs";
import process from "node:process";

/**
 * Resolves when the names in the folder that `fd` has open are on the disk. Windows has no way to ask for that, and
 * refuses to be asked: its file system keeps names in a journal of its own. Rejects with the system's error.
 */
export async function syncFolder(fd: number, platform: string = process.platform): Promise<void> {
  if (platform === "win32") return;
  await new Promise<void>((resolve, reject) => fs.fsync(fd, (error) => error ? reject(error) : resolve()));
}

/** {@link syncFolder} for a folder that is not open; all else waits meanwhile. Throws the system's error. */
export function syncFolderAt(path: string, platform: string = process.platform): void {
  if (platform === "win32") return;
  const fd = fs.openSync(path, "r");
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}
