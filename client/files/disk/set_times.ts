import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import type { Folder, OpenFile, Root } from "./root.ts";

/**
 * Sets the access and modification times of an open file or folder, in seconds since the epoch. Windows requires a
 * handle with write access, so the real path is used there. Throws the system's error.
 */
export function setTimes(
  root: Pick<Root, "path">,
  { fd, segments }: Pick<OpenFile | Folder, "fd" | "segments">,
  seconds: number,
  platform: string = process.platform,
): void {
  if (platform === "win32") fs.utimesSync(path.join(root.path, ...segments), seconds, seconds);
  else fs.futimesSync(fd, seconds, seconds);
}
