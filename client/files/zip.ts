import { readBytes, readPieces } from "./read_file.ts";
import type { OpenFile, Root } from "./root.ts";
import { walk } from "./search.ts";
import { isPlainName } from "./target_path.ts";
import { writeZip, type ZipEntry } from "./zip_writer.ts";

/** Bytes collected before they are sent: a folder of small files would else be a trickle of tiny pieces. */
const PIECE = 256 * 1024;

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
  const pieces = coalesce(writeZip(collect(root, segments, options)));
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

async function* coalesce(source: AsyncIterable<Uint8Array<ArrayBuffer>>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let waiting: Uint8Array[] = [];
  let length = 0;
  for await (const piece of source) {
    if (piece.length >= PIECE) {
      if (length > 0) yield join(waiting, length);
      yield piece;
      [waiting, length] = [[], 0];
      continue;
    }
    waiting.push(piece);
    length += piece.length;
    if (length < PIECE) continue;
    yield join(waiting, length);
    [waiting, length] = [[], 0];
  }
  if (length > 0) yield join(waiting, length);
}

function join(pieces: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}

async function* collect(root: Root, segments: readonly string[], options: ZipOptions): AsyncGenerator<ZipEntry> {
  if (options.names.length === 0) {
    yield* collectBelow(root, segments, "", options.signal);
    return;
  }
  for (const name of new Set(options.names)) {
    if (isPlainName(name)) yield* collectNamed(root, segments, name, options.signal);
  }
}

async function* collectNamed(
  root: Root,
  segments: readonly string[],
  name: string,
  signal: AbortSignal,
): AsyncGenerator<ZipEntry> {
  const opened = openIfThere(root, [...segments, name]);
  if (opened === null) return;
  if (opened.kind === "file") {
    yield* createEntry(name, opened);
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
  for await (const { path, entry } of walk(root, segments, signal)) {
    if (entry.kind === "folder") {
      yield createFolderEntry(prefix + path, new Date(entry.modified));
      continue;
    }
    const opened = openIfThere(root, [...segments, ...path.split("/")]);
    if (opened?.kind === "file") yield* createEntry(prefix + path, opened);
    else opened?.close();
  }
}

function createFolderEntry(name: string, modified: Date): ZipEntry {
  return { name: `${name}/`, modified, size: 0, read: () => [] };
}

/** Gives the entry of a file, which stays open until the next one is asked for. */
function* createEntry(name: string, file: OpenFile): Generator<ZipEntry> {
  const { size, mtimeMs } = file.stat;
  const modified = new Date(mtimeMs);
  try {
    if (size > PIECE) yield { name, modified, size, read: () => readPieces(file, 0, size) };
    else {
      const bytes = readBytes(file, 0, size);
      yield { name, modified, size: bytes.length, read: () => [bytes] };
    }
  } finally {
    file.close();
  }
}

function openIfThere(root: Root, segments: readonly string[]): ReturnType<Root["open"]> | null {
  try {
    return root.open(segments);
  } catch {
    return null;
  }
}
