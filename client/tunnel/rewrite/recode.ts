import type { Buffer } from "node:buffer";
import type { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import zlib from "node:zlib";
import { type ContentEncoding, decodeLenient, isZlib } from "../../../net/body/content_encoding.ts";
import { ByteSource } from "../../../net/body/gunzip.ts";
import type { BodyRewriter } from "./body_rewriter.ts";

/** Bytes that are coded at a time. */
const CHUNK = 64 * 1024;
const { constants } = zlib;
/** What has been written can be read by the visitor at once. */
const GZIP_FLUSH = { chunkSize: CHUNK, flush: constants.Z_SYNC_FLUSH };
const BROTLI_FLUSH = {
  chunkSize: CHUNK,
  flush: constants.BROTLI_OPERATION_FLUSH,
  // As quick as gzip's usual level and smaller; the usual level of brotli is made for files that are packed once.
  params: { [constants.BROTLI_PARAM_QUALITY]: 4 },
};

/** A coded body: how it is coded, and what rewrites its text. */
export interface Recoding {
  readonly coding: ContentEncoding;
  readonly rewriter: Pick<BodyRewriter, "push" | "end">;
  /** The body is not of that coding: nobody needs the rest. */
  onBroken(): void;
}

/**
 * Rewrites a coded body: takes the coding off and puts it on again, as it comes. Ends with the last of `pieces`, and asks
 * for more of them only as `write` resolves.
 * @throws what either end throws, and an error of zlib when the body is not of that coding
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
      if (error !== source.fault) onBroken();
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
