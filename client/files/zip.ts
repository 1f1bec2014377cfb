import { makeZip } from "client-zip";
import { isPlainName } from "./target_path.ts";
import { readBytes, streamFile } from "./read_file.ts";
import type { OpenFile, Root } from "./root.ts";
import { walk } from "./search.ts";

/** Files up to this many bytes are read in one step. */
const WHOLE_LIMIT = 256 * 1024;

interface ZipInput {
  name: string;
  lastModified: Date;
  input?: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>;
}

export interface ZipOptions {
  /** Names in the folder to take; all of it when empty. Names that are not there are left out. */
  names: readonly string[];
  signal: AbortSignal;
}

/**
 * A zip of a folder as a stream, made while it is read: memory stays constant and nothing is written.
 * Files are stored as they are, since most large files are packed already. What goes away meanwhile is left out.
 */
export function streamZip(root: Root, segments: readonly string[], options: ZipOptions): ReadableStream<Uint8Array> {
  return makeZip(collect(root, segments, options), { buffersAreUTF8: true });
}

async function* collect(root: Root, segments: readonly string[], options: ZipOptions): AsyncGenerator<ZipInput> {
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
): AsyncGenerator<ZipInput> {
  const opened = openIfThere(root, [...segments, name]);
  if (opened === null) return;
  if (opened.kind === "file") {
    yield createInput(name, opened);
    return;
  }
  opened.close();
  yield { name: `${name}/`, lastModified: new Date() };
  yield* collectBelow(root, [...segments, name], `${name}/`, signal);
}

async function* collectBelow(
  root: Root,
  segments: readonly string[],
  prefix: string,
  signal: AbortSignal,
): AsyncGenerator<ZipInput> {
  for await (const { path, entry } of walk(root, segments, signal)) {
    const name = prefix + path;
    if (entry.kind === "folder") {
      yield { name: `${name}/`, lastModified: new Date(entry.modified) };
      continue;
    }
    const opened = openIfThere(root, [...segments, ...path.split("/")]);
    if (opened?.kind === "file") yield createInput(name, opened);
    else opened?.close();
  }
}

/** Takes ownership of the file: what is not read at once is closed by its stream. */
function createInput(name: string, file: OpenFile): ZipInput {
  const lastModified = new Date(file.stat.mtimeMs);
  const { size } = file.stat;
  if (size > WHOLE_LIMIT) return { name, lastModified, input: streamFile(file, 0, size) };
  try {
    return { name, lastModified, input: readBytes(file, 0, size) };
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
