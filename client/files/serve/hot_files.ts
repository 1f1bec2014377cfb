import path from "node:path";
import { getStamp } from "../disk/stamp.ts";
import { readBytes } from "../../../net/file_http/mod.ts";
import type { Folder, OpenFile, Root } from "../disk/root.ts";

/** Opens files as {@link Root} does, and keeps the bytes of small ones that are asked for again. */
export type OpenHot = (segments: readonly string[]) => OpenFile | Folder;

/** A file larger than this is not kept, and no more than so many bytes are. */
const MAX_FILE = 64 * 1024;
const MAX_BYTES = 16 * 1024 * 1024;
/** A file that was written later than this ago could be written again without a trace in its times. */
const SETTLED_MS = 1000;

interface Kept {
  stamp: string;
  file: OpenFile;
}

/**
 * A cache of small files. One is sent from memory only while a look at its path shows the very file that was opened
 * and checked before: same device, inode, size, and times of change. Whatever a link on the way is turned to since is
 * another file, and goes through all checks.
 */
export function createHotFiles(root: Root, now: () => number = Date.now): OpenHot {
  const kept = new Map<string, Kept>();
  let bytes = 0;

  function forget(key: string, { file }: Kept): void {
    kept.delete(key);
    bytes -= file.stat.size;
  }

  function keep(key: string, full: string, file: OpenFile): OpenFile {
    const { size, mtimeMs, ctimeMs } = file.stat;
    if (size > MAX_FILE || now() - Math.max(mtimeMs, ctimeMs) < SETTLED_MS) return file;
    const content = readBytes(file, 0, size);
    const stamp = getStamp(full);
    // Looked at before and after: what was read is what the stamp stands for.
    if (stamp === null || content.length !== size || !stamp.startsWith(`${file.stat.dev} ${file.stat.ino} ${size} `)) {
      return file;
    }
    const hot: OpenFile = { ...file, fd: -1, content, close() {} };
    file.close();
    kept.set(key, { stamp, file: hot });
    bytes += size;
    for (const [oldest, entry] of kept) {
      if (bytes <= MAX_BYTES) break;
      forget(oldest, entry);
    }
    return hot;
  }

  return (segments) => {
    const key = segments.join("/");
    const full = path.join(root.path, key);
    const found = kept.get(key);
    if (found !== undefined) {
      if (found.stamp === getStamp(full)) return found.file;
      forget(key, found);
    }
    const opened = root.open(segments);
    return opened.kind === "file" ? keep(key, full, opened) : opened;
  };
}
