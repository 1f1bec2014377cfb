import fs from "node:fs";
import { readPieces } from "./read_file.ts";
import { readFully } from "./read_fully.ts";
import type { Folder, OpenFile, Root } from "./root.ts";
import type { ListedEntry } from "./listing.ts";
import { walk } from "./search.ts";
import { isPlainName } from "./target_path.ts";
import { TimeSlice } from "./time_slice.ts";
import { MAX_WHOLE, type ZipName, ZipWriter } from "./zip_writer.ts";

export interface ZipOptions {
  /** Names in the folder to take, or paths below it; all of it when empty. Names that are not there are left out. */
  names: readonly string[];
  signal: AbortSignal;
}

/**
 * A zip of a folder as a stream, made while it is read: memory stays constant and nothing is written.
 * Files are stored as they are, since most large files are packed already. What goes away meanwhile is left out, and of what becomes shorter there is
 * what was left when its turn came.
 */
export function streamZip(
  root: Root,
  segments: readonly string[],
  options: ZipOptions,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const pieces = makeZip(collect(root, segments, options.names), options.signal);
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

/** A folder, a small file that is read when its turn comes, or a large one that is open until the next one's turn. */
type Source =
  | ZipName & { kind: "folder" }
  | ZipName & { kind: "small"; size: number; fill: (into: Uint8Array<ArrayBuffer>) => number }
  | ZipName & { kind: "large"; file: OpenFile };

async function* makeZip(
  sources: Iterable<Source | null>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const zip = new ZipWriter();
  const slice = new TimeSlice();
  for (const source of sources) {
    // Small files are read at once, many in a row: a turn of the event loop costs more than one of them.
    if (slice.isOver) await slice.next(signal);
    if (source === null) continue;
    if (source.kind === "large") yield* addLarge(zip, source, source.file);
    else addSmall(zip, source);
    yield* zip.take();
  }
  zip.close();
  yield* zip.take();
}

function addSmall(zip: ZipWriter, source: Exclude<Source, { kind: "large" }>): void {
  if (source.kind === "folder") return zip.addFolder(source);
  try {
    zip.addWhole(source, source.size, source.fill);
  } catch {
    // It went away or is closed to us: left out.
  }
}

async function* addLarge(
  zip: ZipWriter,
  name: ZipName,
  file: OpenFile,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  zip.begin(name, file.stat.size);
  for await (const piece of readPieces(file, 0, file.stat.size)) {
    zip.addPiece(piece);
    yield* zip.take();
  }
  zip.end();
}

/** What is to go into the zip; null for what is not there or may not be seen. */
function* collect(root: Root, segments: readonly string[], names: readonly string[]): Generator<Source | null> {
  if (names.length === 0) yield* collectBelow(root, segments, "");
  for (const name of new Set(names)) {
    // What a search found is named by its path below the folder.
    const way = name.split("/");
    if (way.every((part) => isPlainName(part))) yield* collectNamed(root, segments, name, way);
    else yield null;
  }
}

function* collectNamed(
  root: Root,
  segments: readonly string[],
  name: string,
  way: readonly string[],
): Generator<Source | null> {
  const opened = openIfThere(() => root.open([...segments, ...way]));
  if (opened === null) return yield null;
  try {
    if (opened.kind === "file") return yield describeFile(name, opened);
    yield { kind: "folder", name: `${name}/`, modified: fs.fstatSync(opened.fd).mtime };
  } finally {
    opened.close();
  }
  yield* collectBelow(root, [...segments, ...way], `${name}/`);
}

function describeFile(name: string, file: OpenFile): Source {
  const { size, mtimeMs } = file.stat;
  const modified = new Date(mtimeMs);
  if (size > MAX_WHOLE) return { kind: "large", name, modified, file };
  return { kind: "small", name, modified, size, fill: (into) => readFully(file.fd, into, 0) };
}

function* collectBelow(root: Root, segments: readonly string[], prefix: string): Generator<Source | null> {
  for (const found of walk(root, segments)) {
    if (found === null) {
      yield null;
      continue;
    }
    const { path, entry, folder } = found;
    if (entry.kind === "folder") {
      yield { kind: "folder", name: `${prefix}${path}/`, modified: new Date(entry.modified) };
    } else if (entry.size > MAX_WHOLE) {
      yield* openLarge(root, folder, entry, prefix + path);
    } else {
      const fill = (into: Uint8Array<ArrayBuffer>) => root.readEntry(folder, entry.name, into);
      yield { kind: "small", name: prefix + path, modified: new Date(entry.modified), size: entry.size, fill };
    }
  }
}

function* openLarge(root: Root, folder: Folder, entry: ListedEntry, name: string): Generator<Source> {
  const file = openIfThere(() => root.openEntry(folder, entry.name));
  if (file === null) return;
  try {
    yield describeFile(name, file);
  } finally {
    file.close();
  }
}

/** What is opened, or null when it went away or is closed to us meanwhile. */
function openIfThere<T>(open: () => T): T | null {
  try {
    return open();
  } catch {
    return null;
  }
}
