import fs from "node:fs";
import process from "node:process";

/**
 * Resolves when the names in an open folder are on the disk. Windows journals names and has no such call. Rejects with
 * the system's error.
 */
export async function syncFolder(fd: number, platform: string = process.platform): Promise<void> {
  if (platform === "win32") return;
  await new Promise<void>((resolve, reject) => fs.fsync(fd, (error) => error ? reject(error) : resolve()));
}

/** {@link syncFolder} for a closed folder; blocks the process. Throws the system's error. */
export function syncFolderAt(path: string, platform: string = process.platform): void {
  if (platform === "win32") return;
  const fd = fs.openSync(path, "r");
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}
