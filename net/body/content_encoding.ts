import { Buffer } from "node:buffer";
import type { Transform } from "node:stream";
import zlib from "node:zlib";
import { ByteSource, gunzip, runDecoder } from "./gunzip.ts";
import { HAS_ZSTD, readZstdFrames } from "./zstd.ts";

/** A content encoding that can be decoded (RFC 9110, section 8.4.1). */
export type ContentEncoding = "gzip" | "deflate" | "br" | "zstd";

const CODINGS: readonly ContentEncoding[] = HAS_ZSTD ? ["gzip", "deflate", "br", "zstd"] : ["gzip", "deflate", "br"];

/** Returns the content encoding for a lower-case name, or null for an unknown one. */
export function findCoding(name: string): ContentEncoding | null {
  return name === "x-gzip" ? "gzip" : CODINGS.find((coding) => coding === name) ?? null;
}

const MAX_CODINGS = 4;

/**
 * Returns the content encodings in the order in which they were applied. Returns null for an unknown one, because nothing
 * can be decoded then, and for more than {@link MAX_CODINGS}.
 * @param fields Content-Encoding values
 */
export function parseEncodings(fields: readonly string[]): ContentEncoding[] | null {
  const names = fields.flatMap((value) => value.toLowerCase().split(",").map((name) => name.trim()));
  const codings = names.filter((name) => name !== "" && name !== "identity").map(findCoding);
  const known = codings.filter((coding) => coding !== null);
  return known.length === codings.length && known.length <= MAX_CODINGS ? known : null;
}

const { constants } = zlib;
/** Bytes in each decoded chunk. */
const CHUNK = 64 * 1024;
/** The largest zstd window, 8 MiB (RFC 9659). A sender that ignores it could require 128 MiB. */
const WINDOW_LOG = 23;

/**
 * Creates a decoder.
 * @param first the beginning of the body, at least one byte
 * @param endsEarly whether to accept a body that is cut, if its encoding permits
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
 * Returns whether a "deflate" body has the required zlib head (RFC 9110, section 8.4.1.2). Some servers omit it.
 * @param first the beginning of the body, at least one byte
 */
export function isZlib(first: Uint8Array): boolean {
  return (first[0] & 0x0f) === 8;
}

/** A body that differs from its Content-Encoding, or is too large when decoded. */
export class NotDecoded extends Error {
  override name = "NotDecoded";
}

/**
 * Decodes a body while it arrives, and reads the source only when the result is read. A body that is cut is decoded as far
 * as possible.
 * @param maxBytes limit for the output of each encoding
 * @throws NotDecoded, possibly after a beginning, and the error of the source
 */
export async function* decodeBody(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  codings: readonly ContentEncoding[],
  maxBytes: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  let plain = chunks;
  for (const coding of codings.toReversed()) plain = decodeOnce(plain, coding, maxBytes);
  for await (const chunk of plain) yield new Uint8Array(chunk);
}

/**
 * Decodes the beginning of a body as far as possible.
 * @param maxBytes limit for the output of each encoding
 * @returns null if no byte could be decoded; `isWhole` reports whether all given bytes were decoded
 */
export async function decodeBeginning(
  beginning: Uint8Array,
  codings: readonly ContentEncoding[],
  maxBytes: number,
): Promise<{ bytes: Uint8Array<ArrayBuffer>; isWhole: boolean } | null> {
  const chunks: Uint8Array[] = [];
  let isWhole = true;
  try {
    for await (const chunk of decodeBody([beginning], codings, maxBytes)) chunks.push(chunk);
  } catch (error) {
    if (!(error instanceof NotDecoded)) throw error;
    if (chunks.length === 0) return null;
    isWhole = false;
  }
  return { bytes: Uint8Array.from(Buffer.concat(chunks)), isWhole };
}

async function* decodeOnce(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  coding: ContentEncoding,
  maxBytes: number,
): AsyncGenerator<Uint8Array, void> {
  const source = new ByteSource(chunks);
  let size = 0;
  try {
    for await (const chunk of undo(source, coding)) {
      size += chunk.length;
      if (size > maxBytes) throw new NotDecoded(`The body has more than ${maxBytes} bytes.`);
      yield chunk;
    }
    if (await source.peek() !== null) throw new NotDecoded(`Other bytes follow the ${coding} data in the body.`);
  } catch (cause) {
    if (cause === source.error || cause instanceof NotDecoded) throw cause;
    throw new NotDecoded(`The body is not ${coding}, but its Content-Encoding names it.`, { cause });
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
 * @throws the error of the source or the decoder
 */
export async function* decodeLenient(source: ByteSource, coding: ContentEncoding): AsyncGenerator<Uint8Array, void> {
  const encoded = coding === "zstd" ? new ByteSource(readZstdFrames(source)) : source;
  yield* undo(encoded, coding, coding === "gzip" || coding === "deflate");
  while (await source.next() !== null);
}
