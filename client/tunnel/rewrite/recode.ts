import type { Buffer } from "node:buffer";
import type { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import zlib from "node:zlib";
import { HAS_ZSTD } from "../../../common/zstd.ts";
import type { BodyRewriter } from "./body_rewriter.ts";

/** A content coding that can be taken off and put on again. */
export type BodyCoding = "gzip" | "deflate" | "br" | "zstd";

/** Content codings that bodies are taken out of and put into again. Node has zstd since 22.15. */
const CODINGS: readonly BodyCoding[] = HAS_ZSTD ? ["gzip", "deflate", "br", "zstd"] : ["gzip", "deflate", "br"];

/** The coding that a name stands for; null for one that is not known. */
export function findCoding(name: string): BodyCoding | null {
  return name === "x-gzip" ? "gzip" : CODINGS.find((coding) => coding === name) ?? null;
}

/** Bytes of plain text that are made of the coded ones at a time. */
const CHUNK = 64 * 1024;
const { constants } = zlib;
const GZIP_END = { chunkSize: CHUNK, finishFlush: constants.Z_SYNC_FLUSH };
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
  readonly coding: BodyCoding;
  readonly rewriter: BodyRewriter;
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
  const source = pieces[Symbol.asyncIterator]();
  const first = await source.next();
  // Nothing at all is no text of that coding, but it happens.
  if (first.done) return;
  const { decoder, encoder } = createCoders(coding, first.value);
  decoder.once("error", onBroken);
  async function* whole() {
    yield first.value;
    for (let next = await source.next(); !next.done; next = await source.next()) yield next.value;
  }
  async function* rewritten(plain: AsyncIterable<Uint8Array>) {
    for await (const bytes of plain) {
      const ready = rewriter.push(bytes);
      if (ready.length > 0) yield ready;
    }
    const last = rewriter.end();
    if (last.length > 0) yield last;
  }
  await pipeline(whole, decoder, rewritten, encoder, async (coded: AsyncIterable<Buffer>) => {
    for await (const bytes of coded) await write(bytes);
  });
}

function createCoders(coding: BodyCoding, first: Uint8Array): { decoder: Transform; encoder: Transform } {
  switch (coding) {
    case "gzip":
      return { decoder: zlib.createGunzip(GZIP_END), encoder: zlib.createGzip(GZIP_FLUSH) };
    case "deflate":
      // Meant is the form with zlib's head (RFC 9110, section 8.4.1.2); some servers send the bare one.
      if ((first[0] & 0x0f) === 8) {
        return { decoder: zlib.createInflate(GZIP_END), encoder: zlib.createDeflate(GZIP_FLUSH) };
      }
      return { decoder: zlib.createInflateRaw(GZIP_END), encoder: zlib.createDeflateRaw(GZIP_FLUSH) };
    case "br":
      return {
        decoder: zlib.createBrotliDecompress({ chunkSize: CHUNK }),
        encoder: zlib.createBrotliCompress(BROTLI_FLUSH),
      };
    case "zstd":
      return {
        decoder: zlib.createZstdDecompress({ chunkSize: CHUNK }),
        encoder: zlib.createZstdCompress({ chunkSize: CHUNK, flush: constants.ZSTD_e_flush }),
      };
  }
}
