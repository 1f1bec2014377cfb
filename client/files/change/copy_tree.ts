import fs from "node:fs";
import { readPieces } from "../../../net/file_http/mod.ts";
import { HttpError } from "../../../common/http_error.ts";
import type { OpenFile, Root } from "../disk/root.ts";
import { TimeSlice } from "../disk/time_slice.ts";
import { walk } from "../serve/search.ts";

/** How much of a folder is copied. `signal` gives it up. */
export interface CopyTreeOptions {
  /** Copy what is in a folder too. */
  isDeep: boolean;
  signal: AbortSignal;
}

/**
 * Copies what a visitor sees at `segments` to a path that is free. What links lead to inside the share is copied in
 * their place. What came before a failure stays, for the caller to remove.
 * @throws HttpError 507 before a file that does not fit, the reason of the signal, the system's errors
 */
export async function copyTree(
  root: Root,
  segments: readonly string[],
  to: string,
  { isDeep, signal }: CopyTreeOptions,
): Promise<void> {
  const opened = root.open(segments);
  try {
    if (opened.kind === "file") return await copyFile(opened, to, signal);
    fs.mkdirSync(to);
  } finally {
    opened.close();
  }
  if (!isDeep) return;
  const slice = new TimeSlice();
  for (const found of walk(root, segments)) {
    if (slice.isOver) await slice.next(signal);
    if (found === null) continue;
    const path = `${to}/${found.path}`;
    if (found.entry.kind === "folder") {
      fs.mkdirSync(path);
      continue;
    }
    const file = root.openEntry(found.folder, found.entry.name);
    try {
      await copyFile(file, path, signal);
    } finally {
      file.close();
    }
  }
}

async function copyFile(file: OpenFile, to: string, signal: AbortSignal): Promise<void> {
  const { size, mode } = file.stat;
  const handle = await fs.promises.open(to, "wx", mode & 0o777);
  try {
    const { bavail, bsize } = fs.statfsSync(to);
    if (size > bavail * bsize) throw new HttpError(507, "disk_full", "There is no space left for this.");
    for await (const piece of readPieces(file, 0, size)) {
      signal.throwIfAborted();
      await handle.writeFile(piece);
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
}
