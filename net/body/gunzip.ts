import { Buffer } from "node:buffer";
import { pipeline, Readable, type Transform } from "node:stream";
import zlib from "node:zlib";

/** Pieces of bytes as they come, of which some can be given back. Whoever makes it ends it. */
export class ByteSource {
  readonly #pieces: AsyncIterator<Uint8Array> | Iterator<Uint8Array>;
  /** Given back, or looked at: what comes first. */
  #front: Uint8Array[] = [];
  #fault: unknown = null;

  constructor(pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) {
    this.#pieces = Symbol.asyncIterator in pieces ? pieces[Symbol.asyncIterator]() : pieces[Symbol.iterator]();
  }

  /** What the pieces threw; null while they have not. */
  get fault(): unknown {
    return this.#fault;
  }

  /** The next piece, of one byte at least; null behind the last. @throws what the pieces throw */
  async next(): Promise<Uint8Array | null> {
    const given = this.#front.shift();
    if (given !== undefined) return given;
    for (;;) {
      const next = await this.#read();
      if (next.done) return null;
      if (next.value.length > 0) return next.value;
    }
  }

  /** The next piece, which stays. @throws what the pieces throw */
  async peek(): Promise<Uint8Array | null> {
    const piece = await this.next();
    if (piece !== null) this.#front.unshift(piece);
    return piece;
  }

  /** So many bytes, or as many as there are. @throws what the pieces throw */
  async take(count: number): Promise<Uint8Array> {
    const taken: Uint8Array[] = [];
    for (let left = count; left > 0;) {
      const piece = await this.next();
      if (piece === null) break;
      taken.push(piece.subarray(0, left));
      if (piece.length > left) this.giveBack([piece.subarray(left)]);
      left -= Math.min(left, piece.length);
    }
    return taken.length === 1 ? taken[0] : Buffer.concat(taken);
  }

  /** Passes over all up to the first byte that `isEnd` takes, which is next then. @throws what the pieces throw */
  async skipTo(isEnd: (byte: number) => boolean): Promise<void> {
    for (let piece = await this.next(); piece !== null; piece = await this.next()) {
      const at = piece.findIndex(isEnd);
      if (at >= 0) return this.giveBack([piece.subarray(at)]);
    }
  }

  /** Has pieces, of one byte at least each, come again before all others. */
  giveBack(pieces: readonly Uint8Array[]): void {
    this.#front.unshift(...pieces);
  }

  /** Nothing more is wanted. */
  end(): void {
    // Nobody waits for what the end of it may say.
    Promise.resolve(this.#pieces.return?.()).catch(() => {});
  }

  async #read(): Promise<IteratorResult<Uint8Array, unknown>> {
    try {
      return await this.#pieces.next();
    } catch (error) {
      throw this.#fault = error;
    }
  }
}

/**
 * What a decoder of zlib makes of a source, which is asked for more only as the result is. Bytes behind the end of what
 * is coded are given back to it.
 * @throws what the decoder and the source throw
 */
export async function* runDecoder(
  source: ByteSource,
  decoder: Transform & { readonly bytesWritten: number },
): AsyncGenerator<Uint8Array, void> {
  /** What the decoder has got and may not have used, and how much came before. */
  const held: Uint8Array[] = [];
  let before = 0;
  const read = async () => {
    const piece = await source.next();
    while (held.length > 0 && before + held[0].length <= decoder.bytesWritten) before += held.shift()?.length ?? 0;
    if (piece !== null) held.push(piece);
    return piece;
  };
  let reading: Promise<Uint8Array | null> = Promise.resolve(null);
  let isOver = false;
  async function* feed() {
    while (!isOver) {
      const piece = await (reading = read());
      if (piece === null) return;
      yield piece;
    }
  }
  // What goes wrong is thrown where the decoder is read.
  pipeline(Readable.from(feed(), { objectMode: true, highWaterMark: 1 }), decoder, () => {});
  yield* decoder;
  isOver = true;
  // More may have been asked for than the decoder wanted, and is on its way.
  await reading;
  const unused = (held.length === 1 ? held[0] : Buffer.concat(held)).subarray(decoder.bytesWritten - before);
  if (unused.length > 0) source.giveBack([unused]);
}

const ID = [0x1f, 0x8b, 8];
const FIXED_BYTES = 10;
/** Bits of the flags (RFC 1952, section 2.3.1): what else the header holds. */
const HAS_CRC = 2, HAS_EXTRA = 4, HAS_NAME = 8, HAS_COMMENT = 16;

/**
 * Undoes gzip. zlib's own way fails where bytes follow that begin no other member, and what it has made of the piece
 * before them is lost; here they are given back to the source, less zeros, with which some fill up. What is cut is
 * undone as far as it goes.
 * @param chunkSize bytes that are made at a time
 * @throws Error for what is no gzip, and what the source throws
 */
export async function* gunzip(source: ByteSource, chunkSize: number): AsyncGenerator<Uint8Array, void> {
  const options = { chunkSize, finishFlush: zlib.constants.Z_SYNC_FLUSH };
  await skipHeader(source);
  let crc = 0, size = 0;
  for await (const piece of runDecoder(source, zlib.createInflateRaw(options))) {
    crc = zlib.crc32(piece, crc);
    size = (size + piece.length) % 2 ** 32;
    yield piece;
  }
  const trailer = Buffer.from(await source.take(8));
  if (trailer.length < 8) return;
  if (trailer.readUInt32LE(0) !== crc || trailer.readUInt32LE(4) !== size) throw new Error("the checksum is wrong");
  await source.skipTo((byte) => byte !== 0);
  if (!await beginsMember(source)) return;
  // However many: each with a decoder of its own would take long.
  yield* runDecoder(source, zlib.createGunzip(options));
}

async function skipHeader(source: ByteSource): Promise<void> {
  // Byte by byte: other data must fail at once, because more may never arrive.
  for (const byte of ID) {
    const [read] = await source.take(1);
    if (read !== undefined && read !== byte) throw new Error("this is no gzip");
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
