import fs from "node:fs";
import { IS_DENO } from "../../../net/file_http/mod.ts";
import { getDenoStamp } from "./deno.ts";

/**
 * Returns an identifier for the current state of a file, from device, inode, size and both change times; null for a
 * missing file.
 */
export const getStamp: (path: string) => string | null = IS_DENO ? getDenoStamp : getNodeStamp;

function getNodeStamp(path: string): string | null {
  const stat = fs.statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return null;
  return `${stat.dev} ${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}`;
}
