import { readBytes, readPieces } from "./read_file.ts";
import type { OpenFile, Root } from "./root.ts";
import { walk } from "./search.ts";
import { isPlainName } from "./target_path.ts";
import { writeZip, type ZipEntry } from "./zip_writer.ts";

/** Files up to this many bytes are read in one step. */
const WHOLE_LIMIT = 256 * 1024;

export interface ZipOptions {
  /** Names in the folder to take; all of it when empty. Names that are not there are left out. */
  names: readonly string[];
  signal: AbortSignal;
}

/**
 * A zip of a folder as a stream, made while it is read: memory stays constant and nothing is written.
 * Files are stored as they are, since most large files are packed already. What goes away meanwhile is left out.
 */
export function streamZip(
  root: Root,
  segments: readonly string[],
  options: ZipOptions,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const pieces = writeZip(collect(root, segments, options));
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await pieces.return(undefined);
    },
  }, { highWaterMark: 0 });
}

function collect(root: Root, segments: readonly string[], { names, signal }: ZipOptions): AsyncGenerator<ZipEntry> {
  if (names.length === 0) return collectBelow(root, segments, "", signal);
  return collectAll(root, segments, names, signal);
}

async function* collectAll(
  root: Root,
  segments: readonly string[],
  names: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<ZipEntry> {
  for (const name of new Set(names)) {
    if (isPlainName(name)) yield* collectNamed(root, segments, name, signal);
  }
}

async function* collectNamed(
  root: Root,
  segments: readonly string[],
  name: string,
  signal: AbortSignal,
): AsyncGenerator<ZipEntry> {
  const opened = openIfThere(() => root.open([...segments, name]));
  if (opened === null) return;
  if (opened.kind === "file") {
    try {
      yield describeFile(name, opened);
    } finally {
      opened.close();
    }
    return;
  }
  opened.close();
  yield createFolderEntry(name, new Date());
  yield* collectBelow(root, [...segments, name], `${name}/`, signal);
}

async function* collectBelow(
  root: Root,
  segments: readonly string[],
  prefix: string,
  signal: AbortSignal,
): AsyncGenerator<ZipEntry> {
  for await (const { path, entry, folder } of walk(root, segments, signal)) {
    if (entry.kind === "folder") {
      yield createFolderEntry(prefix + path, new Date(entry.modified));
      continue;
    }
    const file = openIfThere(() => root.openEntry(folder, entry.name));
    if (file === null) continue;
    // No generator of its own for this: each one between here and the zip costs more than opening the file.
    try {
      yield describeFile(prefix + path, file);
    } finally {
      file.close();
    }
  }
}

function createFolderEntry(name: string, modified: Date): ZipEntry {
  return { name: `${name}/`, modified, size: 0, read: () => [] };
}

/** The entry of a file, which must stay open until the entry has been read. */
function describeFile(name: string, file: OpenFile): ZipEntry {
  const { size, mtimeMs } = file.stat;
  const modified = new Date(mtimeMs);
  if (size > WHOLE_LIMIT) return { name, modified, size, read: () => readPieces(file, 0, size) };
  const bytes = readBytes(file, 0, size);
  return { name, modified, size: bytes.length, read: () => [bytes] };
}

/** What is opened, or null when it went away or is closed to us meanwhile. */
function openIfThere<T>(open: () => T): T | null {
  try {
    return open();
  } catch {
    return null;
  }
}
