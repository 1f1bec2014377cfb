import type { Buffer } from "node:buffer";
import type { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import zlib from "node:zlib";
import { type ContentEncoding, decodeLenient, isZlib } from "../../../net/body/content_encoding.ts";
import { ByteSource } from "../../../net/body/gunzip.ts";
import type { BodyRewriter } from "./body_rewriter.ts";

/** Output buffer for compression in bytes. */
const CHUNK = 64 * 1024;
const { constants } = zlib;
/** Flushes, so that the visitor can read all bytes written so far. */
const GZIP_FLUSH = { chunkSize: CHUNK, flush: constants.Z_SYNC_FLUSH };
const BROTLI_FLUSH = {
  chunkSize: CHUNK,
  flush: constants.BROTLI_OPERATION_FLUSH,
  // As fast as gzip's default level and smaller. Brotli's default level suits files that are compressed once.
  params: { [constants.BROTLI_PARAM_QUALITY]: 4 },
};

/** A compressed body: its content encoding, and the rewriter for its text. */
export interface Recoding {
  readonly coding: ContentEncoding;
  readonly rewriter: Pick<BodyRewriter, "push" | "end">;
  /** The body does not have that content encoding, so its rest is useless. */
  onBroken(): void;
}

/**
 * Rewrites a compressed body: decompresses, rewrites and compresses it as it arrives. It ends with the last chunk in
 * `pieces`, and reads more only when `write` resolves.
 * @throws errors of both ends, and a zlib error if the body does not have that content encoding
 */
export async function recode(
  pieces: AsyncIterable<Uint8Array>,
  { coding, rewriter, onBroken }: Recoding,
  write: (bytes: Uint8Array) => Promise<void>,
): Promise<void> {
  const source = new ByteSource(pieces);
  const first = await source.peek();
  // An empty body is not valid in any encoding, but services send it.
  if (first === null) return;
  const encoder = createEncoder(coding, first);
  async function* decoded() {
    try {
      yield* decodeLenient(source, coding);
    } catch (error) {
      if (error !== source.error) onBroken();
      throw error;
    } finally {
      source.end();
    }
  }
  async function* rewritten(plain: AsyncIterable<Uint8Array>) {
    for await (const bytes of plain) {
      const ready = rewriter.push(bytes);
      if (ready.length > 0) yield ready;
    }
    const last = rewriter.end();
    if (last.length > 0) yield last;
  }
  await pipeline(decoded, rewritten, encoder, async (coded: AsyncIterable<Buffer>) => {
    for await (const bytes of coded) await write(bytes);
  });
}

function createEncoder(coding: ContentEncoding, first: Uint8Array): Transform {
  switch (coding) {
    case "gzip":
      return zlib.createGzip(GZIP_FLUSH);
    case "deflate":
      return isZlib(first) ? zlib.createDeflate(GZIP_FLUSH) : zlib.createDeflateRaw(GZIP_FLUSH);
    case "br":
      return zlib.createBrotliCompress(BROTLI_FLUSH);
    case "zstd":
      return zlib.createZstdCompress({ chunkSize: CHUNK, flush: constants.ZSTD_e_flush });
  }
}
