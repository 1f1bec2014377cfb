import fs from "node:fs";
import { IS_DENO } from "../../../net/file_http/mod.ts";
import { getDenoStamp } from "./deno.ts";

/** Tells one state of one file from any other: device, inode, size and both times of change; null when it is gone. */
export const getStamp: (path: string) => string | null = IS_DENO ? getDenoStamp : getNodeStamp;

function getNodeStamp(path: string): string | null {
  const stat = fs.statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return null;
  return `${stat.dev} ${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}`;
}
