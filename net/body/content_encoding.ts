import { Buffer } from "node:buffer";
import type { Transform } from "node:stream";
import zlib from "node:zlib";
import { ByteSource, gunzip, runDecoder } from "./gunzip.ts";
import { HAS_ZSTD, readZstdFrames } from "./zstd.ts";

/** A content coding of HTTP (RFC 9110, section 8.4.1) that can be undone. */
export type ContentEncoding = "gzip" | "deflate" | "br" | "zstd";

const CODINGS: readonly ContentEncoding[] = HAS_ZSTD ? ["gzip", "deflate", "br", "zstd"] : ["gzip", "deflate", "br"];

/** The coding that a name in lower case stands for; null for one that is not known. */
export function findCoding(name: string): ContentEncoding | null {
  return name === "x-gzip" ? "gzip" : CODINGS.find((coding) => coding === name) ?? null;
}

const MAX_CODINGS = 4;

/**
 * The codings of a body, in the order in which they were applied; null when one of them is not known, as then nothing can
 * be undone, and when there are more than any sender has a reason for.
 * @param fields values of its Content-Encoding fields
 */
export function parseEncodings(fields: readonly string[]): ContentEncoding[] | null {
  const names = fields.flatMap((value) => value.toLowerCase().split(",").map((name) => name.trim()));
  const codings = names.filter((name) => name !== "" && name !== "identity").map(findCoding);
  const known = codings.filter((coding) => coding !== null);
  return known.length === codings.length && known.length <= MAX_CODINGS ? known : null;
}

const { constants } = zlib;
/** Bytes of plain text that are made of the coded ones at a time. */
const CHUNK = 64 * 1024;
/** A sender of zstd keeps to windows of 8 MiB (RFC 9659), and one that does not would have us keep 128 MiB. */
const WINDOW_LOG = 23;

/**
 * Undoes a coding.
 * @param first the beginning of the body, of one byte at least
 * @param endsEarly whether a body that is cut is taken for one that ends there, where its coding lets that be told
 */
export function createDecoder(
  coding: ContentEncoding,
  first: Uint8Array,
  endsEarly = false,
): Transform & { readonly bytesWritten: number } {
  const options = { chunkSize: CHUNK, ...(endsEarly && { finishFlush: constants.Z_SYNC_FLUSH }) };
  switch (coding) {
    case "gzip":
      return zlib.createGunzip(options);
    case "deflate":
      return isZlib(first) ? zlib.createInflate(options) : zlib.createInflateRaw(options);
    case "br":
      return zlib.createBrotliDecompress({
        chunkSize: CHUNK,
        ...(endsEarly && { finishFlush: constants.BROTLI_OPERATION_FLUSH }),
      });
    case "zstd":
      return zlib.createZstdDecompress({
        chunkSize: CHUNK,
        params: { [constants.ZSTD_d_windowLogMax]: WINDOW_LOG },
        ...(endsEarly && { finishFlush: constants.ZSTD_e_flush }),
      });
  }
}

/**
 * Whether a body of "deflate" begins with zlib's head, as it should (RFC 9110, section 8.4.1.2): some servers leave it out.
 * @param first its beginning, of one byte at least
 */
export function isZlib(first: Uint8Array): boolean {
  return (first[0] & 0x0f) === 8;
}

/** A body is not what its Content-Encoding says, or has more in it than its reader takes. */
export class NotDecoded extends Error {
  override name = "NotDecoded";
}

/**
 * Undoes the codings of a body as its pieces come, which are asked for only as the result is. What is cut is decoded as
 * far as it goes.
 * @param maxBytes of what comes out, of each coding
 * @throws NotDecoded, maybe behind a beginning, and what `pieces` throw
 */
export async function* decodeBody(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  codings: readonly ContentEncoding[],
  maxBytes: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  let plain = pieces;
  for (const coding of codings.toReversed()) plain = decodeOnce(plain, coding, maxBytes);
  for await (const piece of plain) yield new Uint8Array(piece);
}

/**
 * What the beginning of a body is under its codings, as far as that can be undone.
 * @param maxBytes of what comes out, of each coding
 * @returns null where nothing of it is what it says it is; `isWhole` is whether all that is there was undone
 */
export async function decodeBeginning(
  beginning: Uint8Array,
  codings: readonly ContentEncoding[],
  maxBytes: number,
): Promise<{ bytes: Uint8Array<ArrayBuffer>; isWhole: boolean } | null> {
  const pieces: Uint8Array[] = [];
  let isWhole = true;
  try {
    for await (const piece of decodeBody([beginning], codings, maxBytes)) pieces.push(piece);
  } catch (error) {
    if (!(error instanceof NotDecoded)) throw error;
    if (pieces.length === 0) return null;
    isWhole = false;
  }
  return { bytes: Uint8Array.from(Buffer.concat(pieces)), isWhole };
}

async function* decodeOnce(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  coding: ContentEncoding,
  maxBytes: number,
): AsyncGenerator<Uint8Array, void> {
  const source = new ByteSource(pieces);
  let size = 0;
  try {
    for await (const piece of undo(source, coding)) {
      size += piece.length;
      if (size > maxBytes) throw new NotDecoded(`There is more in the body than ${maxBytes} bytes.`);
      yield piece;
    }
    if (await source.peek() !== null) throw new NotDecoded(`Bytes follow behind what is ${coding} in the body.`);
  } catch (cause) {
    if (cause === source.fault || cause instanceof NotDecoded) throw cause;
    throw new NotDecoded(`The body is not ${coding}, as its Content-Encoding says.`, { cause });
  } finally {
    source.end();
  }
}

async function* undo(source: ByteSource, coding: ContentEncoding, endsEarly = true): AsyncGenerator<Uint8Array, void> {
  const first = await source.peek();
  if (first === null) return;
  if (coding === "gzip") yield* gunzip(source, CHUNK);
  else yield* runDecoder(source, createDecoder(coding, first, endsEarly));
}

/**
 * Decodes one content encoding and ignores bytes after its end, as curl and browsers do. A body that is cut is decoded
 * as far as possible if its encoding is gzip or deflate; the other encodings cannot distinguish it from a broken one.
 * @throws what the source throws, and an error of the decoder
 */
export async function* decodeLenient(source: ByteSource, coding: ContentEncoding): AsyncGenerator<Uint8Array, void> {
  const encoded = coding === "zstd" ? new ByteSource(readZstdFrames(source)) : source;
  yield* undo(encoded, coding, coding === "gzip" || coding === "deflate");
  while (await source.next() !== null);
}
