import { readFully } from "../../../net/file_http/mod.ts";
import fs from "node:fs";
import { getErrorCode } from "../disk/fs_error.ts";
import type { Folder, OpenFile, Root } from "../disk/root.ts";
import { isPlainName } from "../../../common/platform/mod.ts";
import type { ListedEntry } from "../serve/listing.ts";
import { UnaddressableName, walk } from "../serve/search.ts";

/** What of a folder goes into an archive. `signal` gives the collecting up. */
export interface ArchiveOptions {
  /** Names in the folder to take, or paths below it; all of it when empty. */
  names: readonly string[];
  signal: AbortSignal;
}

/** What an archive tells of a file or folder. */
export interface ArchivedName {
  /** Relative path with forward slashes; a folder's ends in one. */
  name: string;
  modified: Date;
}

/** The largest file that is read in one step, in bytes. */
const MAX_WHOLE = 256 * 1024;

/** A folder, a small file that is read when its turn comes, or a large one that is open until the next one's turn. */
export type ArchiveSource =
  | ArchivedName & { kind: "folder" }
  | ArchivedName & { kind: "small"; size: number; fill: (into: Uint8Array<ArrayBuffer>) => number }
  | ArchivedName & { kind: "large"; file: OpenFile };

/**
 * What is to go into an archive of a folder, or of `names` in it; null for what may not be seen, so that whoever goes
 * through it can let others work in between. A file is open until the next one's turn.
 */
export function* collect(
  root: Root,
  segments: readonly string[],
  names: readonly string[],
  leftOut: LeftOut,
): Generator<ArchiveSource | null> {
  if (names.length === 0) yield* collectBelow(root, segments, "", leftOut);
  for (const name of new Set(names)) {
    // What a search found is named by its path below the folder.
    const way = name.split("/");
    if (way.every((part) => isPlainName(part))) yield* collectNamed(root, [...segments, ...way], name, leftOut);
    else leftOut.add(name, null);
    yield null;
  }
}

function* collectNamed(
  root: Root,
  segments: readonly string[],
  name: string,
  leftOut: LeftOut,
): Generator<ArchiveSource | null> {
  const opened = leftOut.open(name, () => root.open(segments));
  if (opened === null) return;
  try {
    if (opened.kind === "file") return yield describeFile(name, opened);
    yield { kind: "folder", name: `${name}/`, modified: fs.fstatSync(opened.fd).mtime };
  } finally {
    opened.close();
  }
  yield* collectBelow(root, segments, `${name}/`, leftOut);
}

function describeFile(name: string, file: OpenFile): ArchiveSource {
  const { size, mtimeMs } = file.stat;
  const modified = new Date(mtimeMs);
  if (size > MAX_WHOLE) return { kind: "large", name, modified, file };
  return { kind: "small", name, modified, size, fill: (into) => readFully(file.fd, into, 0) };
}

function* collectBelow(
  root: Root,
  segments: readonly string[],
  prefix: string,
  leftOut: LeftOut,
): Generator<ArchiveSource | null> {
  for (const found of walk(root, segments, (path, error) => leftOut.add(prefix + path, error))) {
    if (found === null) {
      yield null;
      continue;
    }
    const { path, entry, folder } = found;
    if (entry.kind === "folder") {
      yield { kind: "folder", name: `${prefix}${path}/`, modified: new Date(entry.modified) };
    } else if (entry.size > MAX_WHOLE) {
      yield* openLarge(root, folder, entry, prefix + path, leftOut);
    } else {
      const fill = (into: Uint8Array<ArrayBuffer>) => root.readEntry(folder, entry.name, into);
      yield { kind: "small", name: prefix + path, modified: new Date(entry.modified), size: entry.size, fill };
    }
  }
}

function* openLarge(
  root: Root,
  folder: Folder,
  entry: ListedEntry,
  name: string,
  leftOut: LeftOut,
): Generator<ArchiveSource> {
  const file = leftOut.open(name, () => root.openEntry(folder, entry.name));
  if (file === null) return;
  try {
    yield describeFile(name, file);
  } finally {
    file.close();
  }
}

/** Where an archive tells what is not in it, or not whole. */
const LEFT_OUT_NAME = "portway-left-out.txt";
/** Names told of; what is beyond them is counted. */
const MAX_LEFT_OUT = 10_000;

/** What could not be put into an archive, with the reasons. */
export class LeftOut {
  readonly #lines: string[] = [];
  #more = 0;

  /** Notes what is left out, by the path that it would have, and what went wrong. */
  add(name: string, error: unknown): void {
    this.note(name, describeReason(error));
  }

  /** The same, with the reason in words. */
  note(name: string, reason: string): void {
    if (this.#lines.length >= MAX_LEFT_OUT) this.#more++;
    // A name may hold a line break.
    else this.#lines.push(`${JSON.stringify(name)}: ${reason}`);
  }

  /** What `open` opens; null when that fails, which is noted. */
  open<T>(name: string, open: () => T): T | null {
    try {
      return open();
    } catch (error) {
      this.add(name, error);
      return null;
    }
  }

  /** The file that tells of it all, to be added at the end; null when everything is in the archive. */
  describe(): { name: ArchivedName; bytes: Uint8Array<ArrayBuffer> } | null {
    if (this.#lines.length === 0) return null;
    const more = this.#more === 0 ? "" : `and ${this.#more} more\n`;
    const text = `Not in this archive, or not whole:\n\n${this.#lines.join("\n")}\n${more}`;
    return { name: { name: LEFT_OUT_NAME, modified: new Date() }, bytes: new TextEncoder().encode(text) };
  }
}

function describeReason(error: unknown): string {
  if (error instanceof UnaddressableName) return "its name has a backslash or bytes that are not UTF-8";
  const code = getErrorCode(error);
  if (code === "EACCES" || code === "EPERM") return "the system does not permit to read it";
  if (code === "EMFILE" || code === "ENFILE") return "too many files were open";
  if (code === "EIO") return "the disk could not read it";
  return "it is not there";
}
