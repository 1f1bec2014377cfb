import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { type FileSource, readBytes, readPieces, streamPieces } from "./read_file.ts";

/** A part of a file. Both ends are included. */
export interface ByteRange {
  start: number;
  end: number;
}

/** Ranges that a request may have. More cost the server more than they help a client, so they are ignored. */
const MAX_RANGES = 32;
/** A gap that costs less than the head of another part, in bytes. */
const SMALL_GAP = 80;

/**
 * Reads a Range field for a file with `size` bytes (RFC 9110, section 14.2). Ranges that overlap or nearly touch become
 * one, so a response is never longer than the file and one head for each range.
 * @returns at least one range; null to send the whole file, for a missing, malformed or excessive field or another unit;
 * "unsatisfiable" for the response 416
 */
export function parseByteRanges(field: string | null, size: number): ByteRange[] | "unsatisfiable" | null {
  const list = /^bytes[ \t]*=(.*)$/i.exec(field ?? "")?.[1].split(",").map((item) => item.trim());
  if (list === undefined || list.length > MAX_RANGES) return null;
  const items = list.filter((item) => item !== ""), ranges: ByteRange[] = [];
  for (const item of items) {
    const range = parseRange(item, size);
    if (range === null) return null;
    if (range !== "unsatisfiable") ranges.push(range);
  }
  if (ranges.length === 0) return items.length > 0 ? "unsatisfiable" : null;
  const joined = joinRanges(ranges);
  return joined.length === ranges.length ? ranges : joined;
}

function parseRange(text: string, size: number): ByteRange | "unsatisfiable" | null {
  const match = /^(\d*)-(\d*)$/.exec(text);
  if (match === null || (match[1] === "" && match[2] === "")) return null;
  if (match[1] === "") return createSuffix(Number(match[2]), size);
  const start = Number(match[1]);
  const last = match[2] === "" ? Infinity : Number(match[2]);
  if (last < start) return null;
  return start >= size ? "unsatisfiable" : { start, end: Math.min(last, size - 1) };
}

function createSuffix(length: number, size: number): ByteRange | "unsatisfiable" {
  if (length === 0 || size === 0) return "unsatisfiable";
  return { start: Math.max(0, size - length), end: size - 1 };
}

function joinRanges(ranges: readonly ByteRange[]): ByteRange[] {
  const joined: ByteRange[] = [];
  for (const range of ranges.toSorted((a, b) => a.start - b.start)) {
    const last = joined.at(-1);
    if (last !== undefined && range.start <= last.end + SMALL_GAP) last.end = Math.max(last.end, range.end);
    else joined.push({ ...range });
  }
  return joined;
}

/** A response body with several ranges (RFC 9110, section 14.6). */
export interface MultipartRanges {
  /** The response's Content-Type. */
  type: string;
  /** Body length in bytes. */
  length: number;
  /** Streams the body and closes the file at its end, on failure and on cancel. */
  open(): ReadableStream<Uint8Array<ArrayBuffer>>;
}

/** Plans a body with several file ranges. @param type the file's media type */
export function createMultipart(file: FileSource, ranges: readonly ByteRange[], type: string): MultipartRanges {
  const boundary = `portway-${randomBytes(12).toString("hex")}`, { size } = file.stat;
  const heads = ranges.map(({ start, end }) =>
    `\r\n--${boundary}\r\ncontent-type: ${type}\r\ncontent-range: bytes ${start}-${end}/${size}\r\n\r\n`
  );
  const last = `\r\n--${boundary}--\r\n`;
  const around = heads.reduce((sum, head) => sum + head.length, last.length);

  async function* generate(): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
    try {
      for (const [index, { start, end }] of ranges.entries()) {
        yield Uint8Array.from(Buffer.from(heads[index]));
        let left = end - start + 1;
        for await (const bytes of readRange(file, start, left)) {
          left -= bytes.length;
          yield bytes;
        }
        if (left > 0) throw new Error("the file became shorter while it was sent");
      }
      yield Uint8Array.from(Buffer.from(last));
    } finally {
      file.close();
    }
  }

  return {
    type: `multipart/byteranges; boundary=${boundary}`,
    length: ranges.reduce((sum, { start, end }) => sum + end - start + 1, around),
    open: () => streamPieces(generate(), undefined, () => file.close()),
  };
}

async function* readRange(file: FileSource, start: number, length: number): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  if (file.content !== undefined) yield readBytes(file, start, length);
  else yield* readPieces(file, start, length);
}

/** The Content-Range in a request (RFC 9110, section 14.5). */
export interface ContentRange extends ByteRange {
  /** Total length in bytes. */
  total: number;
}

/** Reads the Content-Range in a partial PUT. Returns null if it is malformed, contradictory or without a total. */
export function parseContentRange(field: string): ContentRange | null {
  const match = /^bytes[ \t]+(\d{1,15})-(\d{1,15})\/(\d{1,15})$/i.exec(field.trim());
  if (match === null) return null;
  const [start, end, total] = match.slice(1).map(Number);
  return start <= end && end < total ? { start, end, total } : null;
}
