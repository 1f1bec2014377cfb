import zlib from "node:zlib";
import type { ByteSource } from "./gunzip.ts";

/** Whether this runtime supports zstd. Node does since 22.15. */
export const HAS_ZSTD: boolean = typeof zlib.createZstdCompress === "function";

/** The numbers that begin a frame and, without its last four bits, a skippable frame (RFC 8878, section 3.1). */
const FRAME = 0xfd2fb528, SKIPPABLE = 0x184d2a50;
/** The block type that repeats one byte. */
const REPEATED = 1;
const DICTIONARY_SIZES = [0, 1, 2, 4];

/**
 * Yields all zstd frames and leaves the bytes after them in the source. The runtime's decoder fails on such bytes and loses
 * its output before them. A body without a frame is yielded whole.
 * @throws the error of the source
 */
export async function* readZstdFrames(source: ByteSource): AsyncGenerator<Uint8Array, void> {
  for (let isFirst = true;; isFirst = false) {
    const magic = await source.take(4), number = readNumber(magic);
    const isSkippable = (number & 0xfffffff0) >>> 0 === SKIPPABLE;
    if (!isFirst && number !== FRAME && !isSkippable) return magic.length > 0 ? source.giveBack([magic]) : undefined;
    if (magic.length > 0) yield magic;
    if (isSkippable) {
      const size = await source.take(4);
      yield size;
      yield* copy(source, readNumber(size));
    } else if (number === FRAME) yield* readFrame(source);
    else return yield* copy(source, Infinity);
  }
}

async function* readFrame(source: ByteSource): AsyncGenerator<Uint8Array, void> {
  const head = await source.take(1), [descriptor = 0] = head;
  if (head.length > 0) yield head;
  const sizeFlag = descriptor >> 6, isSingle = (descriptor & 0x20) !== 0;
  const contentSize = sizeFlag === 0 ? (isSingle ? 1 : 0) : 1 << sizeFlag;
  yield* copy(source, (isSingle ? 0 : 1) + DICTIONARY_SIZES[descriptor & 3] + contentSize);
  for (let isLast = false; !isLast;) {
    const block = await source.take(3), number = readNumber(block);
    if (block.length > 0) yield block;
    isLast = (number & 1) !== 0 || block.length < 3;
    yield* copy(source, (number >> 1 & 3) === REPEATED ? 1 : number >> 3);
  }
  if ((descriptor & 4) !== 0) yield* copy(source, 4);
}

/** Yields the next bytes, or as many as there are. */
async function* copy(source: ByteSource, count: number): AsyncGenerator<Uint8Array, void> {
  for (let left = count; left > 0;) {
    const chunk = await source.next();
    if (chunk === null) return;
    if (chunk.length > left) source.giveBack([chunk.subarray(left)]);
    yield chunk.subarray(0, left);
    left -= Math.min(left, chunk.length);
  }
}

/** Reads a little-endian number with up to four bytes. */
function readNumber(bytes: Uint8Array): number {
  return bytes.reduceRight((number, byte) => number * 256 + byte, 0);
}
