import { Buffer } from "node:buffer";

/** Field offsets in the header, for 64-bit little-endian files. */
const SECTIONS_AT = 40, SECTION_SIZE_AT = 58, SECTION_COUNT_AT = 60, NAMES_INDEX_AT = 62;
const SECTION_BYTES = 64;
/** Field offsets in a section header. */
const TYPE_AT = 4, FLAGS_AT = 8, OFFSET_AT = 24, SIZE_AT = 32, LINK_AT = 40, INFO_AT = 44;
/** The section has no bytes in the file. */
const NOBITS = 8;
/** The system loads the section. */
const ALLOC = 2n;
/** The field "info" has a section's number. */
const INFO_LINK = 0x40n;

/**
 * Returns a Linux program without its symbols and debugging data, as `strip` does, with the same bytes on every system.
 * @throws Error for another format, or loaded sections behind removed ones
 */
export function stripElf(file: Buffer): Buffer {
  if (file.readUInt32BE(0) !== 0x7f454c46 || file[4] !== 2 || file[5] !== 1) throw new Error("not a 64-bit ELF file");
  const headers = readHeaders(file), names = file.readUInt16LE(NAMES_INDEX_AT);
  const kept = headers.flatMap((header, index) => {
    return index === 0 || index === names || (header.readBigUInt64LE(FLAGS_AT) & ALLOC) !== 0n ? [index] : [];
  });
  const end = Math.max(...kept.filter((index) => index !== names).map((index) => findEnd(headers[index])));
  const gone = headers.filter((_, index) => index !== 0 && !kept.includes(index));
  if (gone.some((header) => Number(header.readBigUInt64LE(OFFSET_AT)) < end)) {
    throw new Error("cannot strip the program: symbols lie between loaded sections");
  }
  const nameBytes = sliceSection(file, headers[names]), namesAt = align(end), table = align(namesAt + nameBytes.length);
  const result = Buffer.alloc(table + kept.length * SECTION_BYTES);
  file.copy(result, 0, 0, end);
  nameBytes.copy(result, namesAt);
  kept.forEach((index, at) => {
    const header = result.subarray(table + at * SECTION_BYTES, table + (at + 1) * SECTION_BYTES);
    headers[index].copy(header);
    if (index === names) header.writeBigUInt64LE(BigInt(namesAt), OFFSET_AT);
    renumber(header, LINK_AT, kept);
    if ((header.readBigUInt64LE(FLAGS_AT) & INFO_LINK) !== 0n) renumber(header, INFO_AT, kept);
  });
  result.writeBigUInt64LE(BigInt(table), SECTIONS_AT);
  result.writeUInt16LE(kept.length, SECTION_COUNT_AT);
  result.writeUInt16LE(kept.indexOf(names), NAMES_INDEX_AT);
  return result;
}

function readHeaders(file: Buffer): Buffer[] {
  const start = Number(file.readBigUInt64LE(SECTIONS_AT)), count = file.readUInt16LE(SECTION_COUNT_AT);
  if (file.readUInt16LE(SECTION_SIZE_AT) !== SECTION_BYTES || count === 0) throw new Error("the file has no sections");
  return Array.from({ length: count }, (_, index) => {
    return file.subarray(start + index * SECTION_BYTES, start + (index + 1) * SECTION_BYTES);
  });
}

function findEnd(header: Buffer): number {
  const offset = Number(header.readBigUInt64LE(OFFSET_AT));
  return header.readUInt32LE(TYPE_AT) === NOBITS ? offset : offset + Number(header.readBigUInt64LE(SIZE_AT));
}

function sliceSection(file: Buffer, header: Buffer): Buffer {
  return file.subarray(Number(header.readBigUInt64LE(OFFSET_AT)), findEnd(header));
}

/** A reference to a removed section becomes 0, which means none. */
function renumber(header: Buffer, at: number, kept: readonly number[]): void {
  header.writeUInt32LE(Math.max(0, kept.indexOf(header.readUInt32LE(at))), at);
}

const align = (offset: number): number => Math.ceil(offset / 8) * 8;
