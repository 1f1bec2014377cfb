import { readPieces, streamPieces } from "../../../net/file_http/mod.ts";
import type { OpenFile, Root } from "../disk/root.ts";
import { TimeSlice } from "../disk/time_slice.ts";
import { type ArchivedName, type ArchiveOptions, type ArchiveSource, collect, LeftOut } from "./collect.ts";
import { ZipWriter } from "./zip_writer.ts";

/**
 * A zip of a folder as a stream, made while it is read: memory stays constant and nothing is written.
 * Files are stored as they are, since most large files are packed already. What goes away meanwhile is left out, and of
 * what becomes shorter there is what was left when its turn came; a file at the end tells of both.
 */
export function streamZip(
  root: Root,
  segments: readonly string[],
  { names, signal }: ArchiveOptions,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const leftOut = new LeftOut();
  return streamPieces(makeZip(collect(root, segments, names, leftOut), leftOut, signal));
}

async function* makeZip(
  sources: Iterable<ArchiveSource | null>,
  leftOut: LeftOut,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  const zip = new ZipWriter();
  const slice = new TimeSlice();
  for (const source of sources) {
    // Small files are read at once, many in a row: a turn of the event loop costs more than one of them.
    if (slice.isOver) await slice.next(signal);
    if (source === null) continue;
    if (source.kind === "large") yield* addLarge(zip, source, source.file, leftOut);
    else addSmall(zip, source, leftOut);
    yield* zip.take();
  }
  const told = leftOut.describe();
  if (told !== null) addBytes(zip, told.name, told.bytes);
  zip.close();
  yield* zip.take();
}

function addSmall(zip: ZipWriter, source: Exclude<ArchiveSource, { kind: "large" }>, leftOut: LeftOut): void {
  if (source.kind === "folder") return zip.addFolder(source);
  try {
    zip.addWhole(source, source.size, (into) => {
      const count = source.fill(into);
      if (count < into.length) leftOut.note(source.name, "it became shorter while it was read");
      return count;
    });
  } catch (error) {
    leftOut.add(source.name, error);
  }
}

async function* addLarge(
  zip: ZipWriter,
  name: ArchivedName,
  file: OpenFile,
  leftOut: LeftOut,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  zip.begin(name, file.stat.size);
  let length = 0;
  for await (const piece of readPieces(file, 0, file.stat.size)) {
    length += piece.length;
    zip.addPiece(piece);
    yield* zip.take();
  }
  zip.end();
  if (length < file.stat.size) leftOut.note(name.name, "it became shorter while it was read");
}

/** Adds what can be longer than a file that goes in one step. */
function addBytes(zip: ZipWriter, name: ArchivedName, bytes: Uint8Array<ArrayBuffer>): void {
  zip.begin(name, bytes.length);
  zip.addPiece(bytes);
  zip.end();
}
