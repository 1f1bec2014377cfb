import { readPieces, streamPieces } from "../../../net/file_http/mod.ts";
import type { Root } from "../disk/root.ts";
import { TimeSlice } from "../disk/time_slice.ts";
import { type ArchivedName, type ArchiveOptions, type ArchiveSource, collect, LeftOut } from "./collect.ts";

/** Everything in a tar fills blocks of so many bytes. */
const BLOCK = 512;
/** Bytes collected before they are sent. */
const PIECE = 512 * 1024;
/** What a field of eleven octal digits holds; larger files have their size in a record before them. */
const MAX_OCTAL = 8 ** 11 - 1;

/**
 * A tar of a folder as a stream (POSIX.1-2001, pax), made while it is read. A file that becomes shorter meanwhile is
 * filled up with zeros, since its length stands before it; a file at the end tells of that and of what is left out.
 */
export function streamTar(
  root: Root,
  segments: readonly string[],
  { names, signal }: ArchiveOptions,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const leftOut = new LeftOut();
  return streamPieces(gather(makeTar(collect(root, segments, names, leftOut), leftOut, signal)));
}

async function* makeTar(
  sources: Iterable<ArchiveSource | null>,
  leftOut: LeftOut,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  const slice = new TimeSlice();
  for (const source of sources) {
    if (slice.isOver) await slice.next(signal);
    if (source === null) continue;
    if (source.kind === "large") yield* makeLarge(source, leftOut);
    else if (source.kind === "small") yield* makeSmall(source, leftOut);
    else yield* makeHeads(source, 0, "5");
  }
  const told = leftOut.describe();
  if (told !== null) yield* makeFile(told.name, told.bytes);
  // Two empty blocks end it.
  yield new Uint8Array(2 * BLOCK);
}

function* makeSmall(
  source: Extract<ArchiveSource, { kind: "small" }>,
  leftOut: LeftOut,
): Generator<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(source.size);
  const count = leftOut.open(source.name, () => source.fill(bytes));
  if (count === null) return;
  if (count < bytes.length) leftOut.note(source.name, "it became shorter while it was read");
  yield* makeFile(source, bytes.subarray(0, count));
}

function* makeFile(name: ArchivedName, bytes: Uint8Array<ArrayBuffer>): Generator<Uint8Array<ArrayBuffer>> {
  yield* makeHeads(name, bytes.length, "0");
  yield bytes;
  yield fillBlock(bytes.length);
}

async function* makeLarge(
  source: Extract<ArchiveSource, { kind: "large" }>,
  leftOut: LeftOut,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  const { size } = source.file.stat;
  yield* makeHeads(source, size, "0");
  let length = 0;
  for await (const piece of readPieces(source.file, 0, size)) {
    length += piece.length;
    yield piece;
  }
  if (length < size) leftOut.note(source.name, "it became shorter while it was read, and ends in zeros");
  for (; length < size; length += PIECE) yield new Uint8Array(Math.min(PIECE, size - length));
  yield fillBlock(size);
}

/** The zeros behind content of that length. */
function fillBlock(length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array((BLOCK - length % BLOCK) % BLOCK);
}

type Kind = "0" | "5" | "x";

/** The head of an entry, and before it what does not fit into one: a long name, one beyond ASCII, a large size. */
function* makeHeads({ name, modified }: ArchivedName, size: number, kind: Kind): Generator<Uint8Array<ArrayBuffer>> {
  const records: [string, string][] = [];
  // deno-lint-ignore no-control-regex
  if (name.length > 100 || /[^\x00-\x7f]/.test(name)) records.push(["path", name]);
  if (size > MAX_OCTAL) records.push(["size", String(size)]);
  if (records.length > 0) {
    const content = new TextEncoder().encode(records.map(([key, value]) => createRecord(key, value)).join(""));
    yield createHead("pax", modified, content.length, "x");
    yield content;
    yield fillBlock(content.length);
  }
  // deno-lint-ignore no-control-regex
  yield createHead(name.replace(/[^\x00-\x7f]/g, "_").slice(0, 100), modified, Math.min(size, MAX_OCTAL), kind);
}

/** `LENGTH key=value` and a line end, where the length counts its own digits. */
function createRecord(key: string, value: string): string {
  const rest = new TextEncoder().encode(` ${key}=${value}\n`).length;
  let length = rest + String(rest).length;
  if (String(length).length > String(rest).length) length++;
  return `${length} ${key}=${value}\n`;
}

function createHead(name: string, modified: Date, size: number, kind: Kind): Uint8Array<ArrayBuffer> {
  const head = new Uint8Array(BLOCK);
  const put = (text: string, at: number) => void new TextEncoder().encodeInto(text, head.subarray(at));
  const octal = (value: number, digits: number) => Math.max(0, Math.trunc(value)).toString(8).padStart(digits, "0");
  put(name, 0);
  put(`${kind === "5" ? "0000755" : "0000644"}\0${octal(0, 7)}\0${octal(0, 7)}\0`, 100);
  put(`${octal(size, 11)}\0${octal(modified.getTime() / 1000, 11)}\0`, 124);
  // The sum is of the head with blanks in its own place.
  put(`        ${kind}`, 148);
  put("ustar\x0000", 257);
  const sum = head.reduce((total, byte) => total + byte, 0);
  put(`${octal(sum, 6)}\0 `, 148);
  return head;
}

/** Small pieces made into large ones, each sent when it is full. */
async function* gather(
  pieces: AsyncGenerator<Uint8Array<ArrayBuffer>, void>,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  let block = new Uint8Array(PIECE);
  let filled = 0;
  for await (const piece of pieces) {
    if (filled + piece.length > PIECE) {
      if (filled > 0) yield block.subarray(0, filled);
      block = new Uint8Array(PIECE);
      filled = 0;
    }
    if (piece.length >= PIECE) {
      yield piece;
      continue;
    }
    block.set(piece, filled);
    filled += piece.length;
  }
  if (filled > 0) yield block.subarray(0, filled);
}
