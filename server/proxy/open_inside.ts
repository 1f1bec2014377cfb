import { constants } from "node:fs";
import { type FileHandle, open, readdir, realpath } from "node:fs/promises";
import type { Stats } from "node:fs";
import { join, resolve, sep } from "node:path";
import { isPlainName, isShortName } from "../../common/platform/mod.ts";

/** A file that was found inside its folder, however links lead. */
export interface OpenedFile {
  /** Whoever opened it closes it. */
  handle: FileHandle;
  stats: Stats;
}

/**
 * Opens a file for reading that lies in `root`, by its path there with forward slashes. Null when there is none, or
 * none that may be read: not a plain file, hidden, or outside, be it by `..`, an absolute path, a symbolic link or a
 * second name that the file system has for it.
 * @param listNames the names in a folder
 * @throws the system's other errors
 */
export async function openInside(
  root: string,
  path: string,
  listNames: ListNames = readdir,
): Promise<OpenedFile | null> {
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".");
  if (segments.length === 0 || !segments.every(isPlainSegment)) return null;
  try {
    const realRoot = await realpath(resolve(root));
    if (!await areOwnNames(realRoot, segments, listNames)) return null;
    const real = await realpath(join(realRoot, ...segments));
    const prefix = realRoot.endsWith(sep) ? realRoot : realRoot + sep;
    // A link may lead out of the folder, and to what is hidden in it.
    if (!real.startsWith(prefix) || !real.slice(prefix.length).split(sep).every(isPlainSegment)) return null;
    return await openPlain(real);
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** No hidden names, no way up, nothing a file system reads as more than one name, nor as a device. */
function isPlainSegment(segment: string): boolean {
  return !segment.startsWith(".") && !segment.includes(":") && isPlainName(segment);
}

type ListNames = (folder: string) => Promise<readonly string[]>;

/** Whether names that look like the short one of something else, as `ENV~1` of `.env`, are names of the folders' own. */
async function areOwnNames(root: string, segments: readonly string[], listNames: ListNames): Promise<boolean> {
  for (const [depth, name] of segments.entries()) {
    if (!isShortName(name)) continue;
    const names = await listNames(join(root, ...segments.slice(0, depth)));
    if (!names.includes(name)) return false;
  }
  return true;
}

async function openPlain(real: string): Promise<OpenedFile | null> {
  // NOFOLLOW: a link put there since the path was looked at is not followed. NONBLOCK: a pipe does not hold us up.
  const handle = await open(real, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = await handle.stat();
    // A folder above may have been swapped for a link in between: what was opened must still be where it was looked for.
    if (stats.isFile() && await realpath(real) === real) return { handle, stats };
  } catch (error) {
    await handle.close();
    throw error;
  }
  await handle.close();
  return null;
}

function isMissing(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : "";
  return ["ENOENT", "ENOTDIR", "EACCES", "EPERM", "ELOOP", "ENAMETOOLONG", "EISDIR", "ENXIO"].includes(String(code));
}
