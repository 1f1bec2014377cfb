import { Buffer } from "node:buffer";
import { crc32 } from "node:zlib";

/** One thing to put into a zip. */
export interface ZipEntry {
  /** Relative path with forward slashes; a folder's ends in one. */
  name: string;
  modified: Date;
  /** Bytes that {@link read} gives in all. */
  size: number;
  /** The content in pieces. It is read to its end or, when the visitor leaves, returned early. */
  read(): AsyncIterable<Uint8Array> | Uint8Array[];
}

const LOCAL = 0x04034b50;
const DESCRIPTOR = 0x08074b50;
const CENTRAL = 0x02014b50;
const END_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;
const END = 0x06054b50;
/** Sizes follow the data; names are UTF-8. */
const FLAGS = 0x0808;
const VERSION = 45;
const MAX_32 = 0xffffffff;
const MAX_16 = 0xffff;

/** Bytes collected before they are sent: a folder of small files would else be a trickle of tiny pieces. */
const PIECE = 256 * 1024;

/**
 * Writes entries as a zip (APPNOTE 6.3), stored as they are, with 64-bit fields where they are needed.
 * Memory grows by the length of each name and nothing else.
 * @throws RangeError when an entry does not have the size it was said to have
 */
export async function* writeZip(entries: AsyncIterable<ZipEntry>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const directory: Buffer<ArrayBuffer>[] = [];
  const output = new PieceList();
  for await (const entry of entries) {
    const name = Buffer.from(entry.name, "utf8");
    const is64 = entry.size >= MAX_32;
    const { offset } = output;
    output.add(createLocalHeader(name, entry, is64));
    let crc = 0;
    let size = 0;
    const content = entry.read();
    // What is in memory is not waited for: a turn of the event loop costs more than a small file.
    for await (const piece of Array.isArray(content) ? [] : content) {
      crc = crc32(piece, crc);
      size += piece.length;
      output.add(piece);
      if (output.isFull) yield output.take();
    }
    for (const piece of Array.isArray(content) ? content : []) {
      crc = crc32(piece, crc);
      size += piece.length;
      output.add(piece);
    }
    if (size !== entry.size) throw new RangeError(`"${entry.name}" has ${size} bytes, not ${entry.size}`);
    output.add(createDescriptor(crc, size, is64));
    directory.push(createCentralHeader(name, entry, crc, offset));
    if (output.isFull) yield output.take();
  }
  const { offset } = output;
  for (const header of directory) {
    output.add(header);
    if (output.isFull) yield output.take();
  }
  output.add(createEnd(directory.length, output.offset - offset, offset));
  yield output.take();
}

/** Pieces that wait to be sent as one. */
class PieceList {
  /** Bytes added so far. */
  offset = 0;
  #pieces: Uint8Array[] = [];
  #length = 0;

  get isFull(): boolean {
    return this.#length >= PIECE;
  }

  add(piece: Uint8Array): void {
    this.#pieces.push(piece);
    this.#length += piece.length;
    this.offset += piece.length;
  }

  take(): Uint8Array<ArrayBuffer> {
    const joined = new Uint8Array(this.#length);
    let at = 0;
    for (const piece of this.#pieces) {
      joined.set(piece, at);
      at += piece.length;
    }
    [this.#pieces, this.#length] = [[], 0];
    return joined;
  }
}

function createLocalHeader(name: Buffer, { modified }: ZipEntry, is64: boolean): Buffer<ArrayBuffer> {
  const header = Buffer.alloc(30 + name.length + (is64 ? 20 : 0));
  header.writeUInt32LE(LOCAL, 0);
  writeCommon(header, 4, modified);
  header.writeUInt16LE(name.length, 26);
  header.writeUInt16LE(is64 ? 20 : 0, 28);
  header.set(name, 30);
  if (!is64) return header;
  header.writeUInt32LE(MAX_32, 18);
  header.writeUInt32LE(MAX_32, 22);
  // An extra field of zeros says that the sizes behind the data have 64 bits.
  header.writeUInt16LE(1, 30 + name.length);
  header.writeUInt16LE(16, 32 + name.length);
  return header;
}

/** Version, flags, method (stored) and time: the same in both kinds of header. */
function writeCommon(header: Buffer, at: number, modified: Date): void {
  header.writeUInt16LE(VERSION, at);
  header.writeUInt16LE(FLAGS, at + 2);
  const year = Math.min(Math.max(modified.getFullYear(), 1980), 2107);
  header.writeUInt16LE(modified.getHours() << 11 | modified.getMinutes() << 5 | modified.getSeconds() >> 1, at + 6);
  header.writeUInt16LE((year - 1980) << 9 | (modified.getMonth() + 1) << 5 | modified.getDate(), at + 8);
}

function createDescriptor(crc: number, size: number, is64: boolean): Buffer<ArrayBuffer> {
  const descriptor = Buffer.alloc(is64 ? 24 : 16);
  descriptor.writeUInt32LE(DESCRIPTOR, 0);
  descriptor.writeUInt32LE(crc, 4);
  if (is64) {
    descriptor.writeBigUInt64LE(BigInt(size), 8);
    descriptor.writeBigUInt64LE(BigInt(size), 16);
  } else {
    descriptor.writeUInt32LE(size, 8);
    descriptor.writeUInt32LE(size, 12);
  }
  return descriptor;
}

function createCentralHeader(
  name: Buffer,
  { modified, size }: ZipEntry,
  crc: number,
  offset: number,
): Buffer<ArrayBuffer> {
  const is64 = size >= MAX_32 || offset >= MAX_32;
  const header = Buffer.alloc(46 + name.length + (is64 ? 28 : 0));
  header.writeUInt32LE(CENTRAL, 0);
  // Made by Unix, so that the rights below are read as such: 644 and 755.
  header.writeUInt16LE(3 << 8 | VERSION, 4);
  writeCommon(header, 6, modified);
  header.writeUInt32LE(crc, 16);
  header.writeUInt32LE(is64 ? MAX_32 : size, 20);
  header.writeUInt32LE(is64 ? MAX_32 : size, 24);
  header.writeUInt16LE(name.length, 28);
  header.writeUInt16LE(is64 ? 28 : 0, 30);
  header.writeUInt32LE(((name.at(-1) === SLASH ? 0o40755 : 0o100644) << 16) >>> 0, 38);
  header.writeUInt32LE(is64 ? MAX_32 : offset, 42);
  header.set(name, 46);
  if (!is64) return header;
  header.writeUInt16LE(1, 46 + name.length);
  header.writeUInt16LE(24, 48 + name.length);
  header.writeBigUInt64LE(BigInt(size), 50 + name.length);
  header.writeBigUInt64LE(BigInt(size), 58 + name.length);
  header.writeBigUInt64LE(BigInt(offset), 66 + name.length);
  return header;
}

const SLASH = 0x2f;

function createEnd(count: number, length: number, offset: number): Buffer<ArrayBuffer> {
  const is64 = count >= MAX_16 || offset >= MAX_32 || length >= MAX_32;
  const end = Buffer.alloc(is64 ? 98 : 22);
  const plain = is64 ? 76 : 0;
  if (is64) writeEnd64(end, count, length, offset);
  end.writeUInt32LE(END, plain);
  end.writeUInt16LE(is64 ? MAX_16 : count, plain + 8);
  end.writeUInt16LE(is64 ? MAX_16 : count, plain + 10);
  end.writeUInt32LE(is64 ? MAX_32 : length, plain + 12);
  end.writeUInt32LE(is64 ? MAX_32 : offset, plain + 16);
  return end;
}

function writeEnd64(end: Buffer, count: number, length: number, offset: number): void {
  end.writeUInt32LE(END_64, 0);
  end.writeBigUInt64LE(44n, 4);
  end.writeUInt16LE(3 << 8 | VERSION, 12);
  end.writeUInt16LE(VERSION, 14);
  end.writeBigUInt64LE(BigInt(count), 24);
  end.writeBigUInt64LE(BigInt(count), 32);
  end.writeBigUInt64LE(BigInt(length), 40);
  end.writeBigUInt64LE(BigInt(offset), 48);
  end.writeUInt32LE(LOCATOR_64, 56);
  end.writeBigUInt64LE(BigInt(offset + length), 64);
  end.writeUInt32LE(1, 72);
}
