import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import type { Folder, OpenFile, Root } from "./root.ts";

/**
 * Sets when an opened file or folder was last read and changed, in seconds since the epoch. Windows takes that only
 * where something is open for writing, which these are not: there it goes by the real path. Throws the system's error.
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
