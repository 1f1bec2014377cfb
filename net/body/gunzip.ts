import { Buffer } from "node:buffer";
import { pipeline, Readable, type Transform } from "node:stream";
import zlib from "node:zlib";

/** A chunk source whose chunks can be returned. The creator ends it. */
export class ByteSource {
  readonly #chunks: AsyncIterator<Uint8Array> | Iterator<Uint8Array>;
  /** Returned or peeked chunks, which come first. */
  #front: Uint8Array[] = [];
  #error: unknown = null;

  constructor(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) {
    this.#chunks = Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : chunks[Symbol.iterator]();
  }

  /** The error that the source threw, or null. */
  get error(): unknown {
    return this.#error;
  }

  /** Returns the next chunk with at least one byte, or null at the end. @throws the error of the source */
  async next(): Promise<Uint8Array | null> {
    const given = this.#front.shift();
    if (given !== undefined) return given;
    for (;;) {
      const next = await this.#read();
      if (next.done) return null;
      if (next.value.length > 0) return next.value;
    }
  }

  /** Returns the next chunk without removing it. @throws the error of the source */
  async peek(): Promise<Uint8Array | null> {
    const chunk = await this.next();
    if (chunk !== null) this.#front.unshift(chunk);
    return chunk;
  }

  /** Removes `count` bytes, or fewer at the end. @throws the error of the source */
  async take(count: number): Promise<Uint8Array> {
    const taken: Uint8Array[] = [];
    for (let left = count; left > 0;) {
      const chunk = await this.next();
      if (chunk === null) break;
      taken.push(chunk.subarray(0, left));
      if (chunk.length > left) this.giveBack([chunk.subarray(left)]);
      left -= Math.min(left, chunk.length);
    }
    return taken.length === 1 ? taken[0] : Buffer.concat(taken);
  }

  /** Skips bytes until `isEnd` accepts one, which comes next. @throws the error of the source */
  async skipTo(isEnd: (byte: number) => boolean): Promise<void> {
    for (let chunk = await this.next(); chunk !== null; chunk = await this.next()) {
      const at = chunk.findIndex(isEnd);
      if (at >= 0) return this.giveBack([chunk.subarray(at)]);
    }
  }

  /** Returns chunks with at least one byte each to the front. */
  giveBack(chunks: readonly Uint8Array[]): void {
    this.#front.unshift(...chunks);
  }

  /** Ends the source. */
  end(): void {
    // An error while ending has no effect on the reader.
    Promise.resolve(this.#chunks.return?.()).catch(() => {});
  }

  async #read(): Promise<IteratorResult<Uint8Array, unknown>> {
    try {
      return await this.#chunks.next();
    } catch (error) {
      throw this.#error = error;
    }
  }
}

/**
 * Runs a zlib decoder over a source and reads the source only when the result is read. Bytes after the encoded data return
 * to the source.
 * @throws the error of the decoder or the source
 */
export async function* runDecoder(
  source: ByteSource,
  decoder: Transform & { readonly bytesWritten: number },
): AsyncGenerator<Uint8Array, void> {
  /** Chunks that the decoder may not have used, and the bytes before them. */
  const held: Uint8Array[] = [];
  let before = 0;
  const read = async () => {
    const chunk = await source.next();
    while (held.length > 0 && before + held[0].length <= decoder.bytesWritten) before += held.shift()?.length ?? 0;
    if (chunk !== null) held.push(chunk);
    return chunk;
  };
  let reading: Promise<Uint8Array | null> = Promise.resolve(null);
  let isOver = false;
  async function* feed() {
    while (!isOver) {
      const chunk = await (reading = read());
      if (chunk === null) return;
      yield chunk;
    }
  }
  // Reading the decoder throws its error.
  pipeline(Readable.from(feed(), { objectMode: true, highWaterMark: 1 }), decoder, () => {});
  yield* decoder;
  isOver = true;
  // A last read may still be running.
  await reading;
  const unused = (held.length === 1 ? held[0] : Buffer.concat(held)).subarray(decoder.bytesWritten - before);
  if (unused.length > 0) source.giveBack([unused]);
}

const ID = [0x1f, 0x8b, 8];
const FIXED_BYTES = 10;
/** Flags for the optional header parts (RFC 1952, section 2.3.1). */
const HAS_CRC = 2, HAS_EXTRA = 4, HAS_NAME = 8, HAS_COMMENT = 16;

/**
 * Decodes gzip. Unlike zlib, it keeps the output before unexpected bytes: it returns such bytes to the source, without
 * zeros, because some programs pad with zeros. A body that is cut is decoded as far as possible.
 * @param chunkSize bytes in each output chunk
 * @throws Error for another format, and the error of the source
 */
export async function* gunzip(source: ByteSource, chunkSize: number): AsyncGenerator<Uint8Array, void> {
  const options = { chunkSize, finishFlush: zlib.constants.Z_SYNC_FLUSH };
  await skipHeader(source);
  let crc = 0, size = 0;
  for await (const chunk of runDecoder(source, zlib.createInflateRaw(options))) {
    crc = zlib.crc32(chunk, crc);
    size = (size + chunk.length) % 2 ** 32;
    yield chunk;
  }
  const trailer = Buffer.from(await source.take(8));
  if (trailer.length < 8) return;
  if (trailer.readUInt32LE(0) !== crc || trailer.readUInt32LE(4) !== size) throw new Error("the checksum is wrong");
  await source.skipTo((byte) => byte !== 0);
  if (!await beginsMember(source)) return;
  // One decoder for all further members: a decoder for each would be slow.
  yield* runDecoder(source, zlib.createGunzip(options));
}

async function skipHeader(source: ByteSource): Promise<void> {
  // Byte by byte: other data must fail at once, because more may never arrive.
  for (const byte of ID) {
    const [read] = await source.take(1);
    if (read !== undefined && read !== byte) throw new Error("the body is not gzip");
  }
  const [flags = 0] = await source.take(FIXED_BYTES - ID.length);
  if (flags & HAS_EXTRA) {
    const [low = 0, high = 0] = await source.take(2);
    await source.take(low + (high << 8));
  }
  for (const flag of [HAS_NAME, HAS_COMMENT]) {
    if (!(flags & flag)) continue;
    await source.skipTo((byte) => byte === 0);
    await source.take(1);
  }
  if (flags & HAS_CRC) await source.take(2);
}

async function beginsMember(source: ByteSource): Promise<boolean> {
  const head = await source.take(ID.length);
  if (head.length > 0) source.giveBack([head]);
  return head.length === ID.length && ID.every((byte, at) => head[at] === byte);
}
