import { crc32 } from "node:zlib";
import type { ArchivedName } from "./collect.ts";
import { ZipBlock } from "./zip_block.ts";

/** Bytes collected before they are sent: a folder of small files would else be a trickle of tiny pieces. */
const PIECE = 512 * 1024;
const DIRECTORY_PIECE = 64 * 1024;

const LOCAL = 0x04034b50;
const DESCRIPTOR = 0x08074b50;
const CENTRAL = 0x02014b50;
const END_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;
const END = 0x06054b50;
/** Names are UTF-8. */
const UTF_8 = 0x0800;
/** Sizes and checksum come behind the data. */
const FOLLOWED = 0x0008;
const VERSION = 45;
/** Made by Unix, so that rights are read as such. */
const MADE_BY = 3 << 8 | VERSION;
const MAX_32 = 0xffffffff;
const MAX_16 = 0xffff;
const SLASH = 0x2f;

interface Entry {
  /** The name in UTF-8. */
  name: Uint8Array;
  modified: Date;
  crc: number;
  size: number;
  /** Where it begins. */
  offset: number;
  flags: number;
}

/**
 * Writes a zip (APPNOTE 6.3): entries are stored as they are, with 64-bit fields where they are needed. What is
 * written is taken piece by piece. Memory grows by the length of each name and nothing else.
 */
export class ZipWriter {
  readonly #encoder = new TextEncoder();
  #ready: Uint8Array<ArrayBuffer>[] = [];
  #block = new ZipBlock(PIECE);
  /** Bytes before the block. */
  #before = 0;
  readonly #directory: ZipBlock[] = [];
  #count = 0;
  #open: Entry | null = null;
  #expected = 0;

  /** Pieces that are full. */
  take(): Uint8Array<ArrayBuffer>[] {
    const ready = this.#ready;
    if (ready.length > 0) this.#ready = [];
    return ready;
  }

  addFolder(folder: ArchivedName): void {
    this.addWhole(folder, 0, () => 0);
  }

  /**
   * Adds a file of at most `MAX_WHOLE` bytes in one step. `fill` puts its content where it is to be and returns
   * how much there was. When it throws, nothing is added.
   */
  addWhole({ name, modified }: ArchivedName, size: number, fill: (into: Uint8Array<ArrayBuffer>) => number): void {
    const encoded = this.#encoder.encode(name);
    const head = 30 + encoded.length;
    this.#makeRoom(head + size);
    const block = this.#block;
    const start = block.length + head;
    const count = size === 0 ? 0 : fill(block.bytes.subarray(start, start + size));
    const crc = count === 0 ? 0 : crc32(block.bytes.subarray(start, start + count));
    const entry = { name: encoded, modified, crc, size: count, offset: this.#offset, flags: UTF_8 };
    writeLocal(block, entry);
    block.length += count;
    this.#addToDirectory(entry);
  }

  /**
   * Begins a file that comes in pieces. Its size at most must be known; what it comes to, and its checksum, follow
   * behind it.
   */
  begin({ name, modified }: ArchivedName, size: number): void {
    this.#expected = size;
    const encoded = this.#encoder.encode(name);
    this.#makeRoom(50 + encoded.length);
    this.#open = { name: encoded, modified, crc: 0, size, offset: this.#offset, flags: UTF_8 | FOLLOWED };
    writeLocal(this.#block, this.#open);
    this.#open.size = 0;
  }

  /** Adds a piece of the file that was begun; it must not be changed after that. @throws TypeError when none was begun */
  addPiece(piece: Uint8Array<ArrayBuffer>): void {
    if (this.#open === null) throw new TypeError("no file was begun");
    this.#open.crc = crc32(piece, this.#open.crc);
    this.#open.size += piece.length;
    this.#finishBlock();
    this.#ready.push(piece);
    this.#before += piece.length;
  }

  /** Ends the file that was begun. Throws RangeError when it is longer than it was said to be. */
  end(): void {
    const entry = this.#open;
    if (entry === null) throw new TypeError("no file was begun");
    if (entry.size > this.#expected) {
      throw new RangeError(`the file has ${entry.size} bytes, more than ${this.#expected}`);
    }
    this.#open = null;
    this.#makeRoom(24);
    // As wide as its header has said.
    writeDescriptor(this.#block, entry, this.#expected >= MAX_32);
    this.#addToDirectory(entry);
  }

  /** Ends the zip; what is left is to be taken after it. */
  close(): void {
    const offset = this.#offset;
    this.#finishBlock();
    for (const { written } of this.#directory) {
      this.#ready.push(written);
      this.#before += written.length;
    }
    writeEnd(this.#block, this.#count, this.#offset - offset, offset);
    this.#finishBlock();
  }

  get #offset(): number {
    return this.#before + this.#block.length;
  }

  #makeRoom(length: number): void {
    if (this.#block.room < length) this.#finishBlock();
  }

  #finishBlock(): void {
    const { written } = this.#block;
    if (written.length === 0) return;
    this.#ready.push(written);
    this.#before += written.length;
    this.#block = new ZipBlock(PIECE);
  }

  #addToDirectory(entry: Entry): void {
    const length = 46 + 28 + entry.name.length;
    let block = this.#directory.at(-1);
    if (block === undefined || block.room < length) {
      block = new ZipBlock(Math.max(DIRECTORY_PIECE, length));
      this.#directory.push(block);
    }
    writeCentral(block, entry);
    this.#count++;
  }
}

function writeLocal(block: ZipBlock, entry: Entry): void {
  const { name, crc, size } = entry;
  const is64 = size >= MAX_32;
  block.u32(LOCAL);
  writeCommon(block, entry);
  block.u32(crc);
  // Behind FOLLOWED nothing is told here, but that the numbers behind the data have 64 bits.
  const told = is64 ? MAX_32 : isFollowed(entry) ? 0 : size;
  block.u32(told);
  block.u32(told);
  block.u16(name.length);
  block.u16(is64 ? 20 : 0);
  block.add(name);
  if (!is64) return;
  block.u16(1);
  block.u16(16);
  block.u64(0);
  block.u64(0);
}

function isFollowed({ flags }: Entry): boolean {
  return (flags & FOLLOWED) !== 0;
}

/** Version, flags, method (stored) and time: the same in both kinds of header. */
function writeCommon(block: ZipBlock, { flags, modified }: Entry): void {
  block.u16(VERSION);
  block.u16(flags);
  block.u16(0);
  const year = Math.min(Math.max(modified.getFullYear(), 1980), 2107);
  block.u16(modified.getHours() << 11 | modified.getMinutes() << 5 | modified.getSeconds() >> 1);
  block.u16((year - 1980) << 9 | (modified.getMonth() + 1) << 5 | modified.getDate());
}

function writeDescriptor(block: ZipBlock, { crc, size }: Entry, is64: boolean): void {
  block.u32(DESCRIPTOR);
  block.u32(crc);
  for (const _ of ["packed", "as it is"]) {
    if (is64) block.u64(size);
    else block.u32(size);
  }
}

function writeCentral(block: ZipBlock, entry: Entry): void {
  const { name, crc, size, offset } = entry;
  const is64 = size >= MAX_32 || offset >= MAX_32;
  block.u32(CENTRAL);
  block.u16(MADE_BY);
  writeCommon(block, entry);
  block.u32(crc);
  block.u32(is64 ? MAX_32 : size);
  block.u32(is64 ? MAX_32 : size);
  block.u16(name.length);
  block.u16(is64 ? 28 : 0);
  // No comment, first disk, nothing said about the content.
  block.u16(0);
  block.u16(0);
  block.u16(0);
  block.u32(((name.at(-1) === SLASH ? 0o40755 : 0o100644) << 16) >>> 0);
  block.u32(is64 ? MAX_32 : offset);
  block.add(name);
  if (!is64) return;
  block.u16(1);
  block.u16(24);
  block.u64(size);
  block.u64(size);
  block.u64(offset);
}

function writeEnd(block: ZipBlock, count: number, length: number, offset: number): void {
  const is64 = count >= MAX_16 || offset >= MAX_32 || length >= MAX_32;
  if (is64) writeEnd64(block, count, length, offset);
  block.u32(END);
  block.u32(0);
  block.u16(is64 ? MAX_16 : count);
  block.u16(is64 ? MAX_16 : count);
  block.u32(is64 ? MAX_32 : length);
  block.u32(is64 ? MAX_32 : offset);
  block.u16(0);
}

function writeEnd64(block: ZipBlock, count: number, length: number, offset: number): void {
  block.u32(END_64);
  block.u64(44);
  block.u16(MADE_BY);
  block.u16(VERSION);
  block.u32(0);
  block.u32(0);
  block.u64(count);
  block.u64(count);
  block.u64(length);
  block.u64(offset);
  block.u32(LOCATOR_64);
  block.u32(0);
  block.u64(offset + length);
  block.u32(1);
}
