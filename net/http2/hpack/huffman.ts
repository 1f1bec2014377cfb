/** The Huffman code in HPACK (RFC 7541, appendix B). Codes are canonical: their lengths define them. */

/** Bits in the code for each byte. The end-of-string code has 30 bits and must never be sent. */
// deno-fmt-ignore
const LENGTHS: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
  28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
  6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
  5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
  7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
  15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
  6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
  20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
  24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
  22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
  21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
  26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
  19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
  20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
  26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
];

/**
 * Consecutive tables with 256 entries, indexed by the next eight bits. The first table is for the start of a code. An entry
 * is 0 for no code, `1 | byte << 1 | bits << 9` for a code that ends after `bits` bits, and otherwise twice the offset of
 * the table for the bits that follow.
 */
const TABLES = createTables();

function createTables(): Int32Array {
  const tables: number[] = Array<number>(256).fill(0);
  let code = 0, length = 0;
  const bytes = LENGTHS.map((bits, byte) => ({ bits, byte })).sort((a, b) => a.bits - b.bits || a.byte - b.byte);
  for (const { bits, byte } of bytes) {
    code *= 2 ** (bits - length);
    length = bits;
    let table = 0, left = bits;
    for (; left > 8; left -= 8) {
      const at = table + (Math.floor(code / 2 ** (left - 8)) & 0xff);
      if (tables[at] === 0) {
        tables[at] = tables.length * 2;
        for (let entry = 0; entry < 256; entry++) tables.push(0);
      }
      table = tables[at] / 2;
    }
    const first = table + (code * 2 ** (8 - left) & 0xff);
    for (let entry = 0; entry < 2 ** (8 - left); entry++) tables[first + entry] = 1 | byte << 1 | left << 9;
    code++;
  }
  return Int32Array.from(tables);
}

/**
 * Decodes `from[start, end)` into `to` at the offset `at`. The caller provides {@link sizeOfDecoded} bytes.
 * @returns the offset after the decoded string, or -1 for an invalid code or invalid padding
 */
export function decodeHuffman(from: Uint8Array, start: number, end: number, to: Uint8Array, at: number): number {
  let bits = 0, have = 0, table = 0;
  /** Bits of the incomplete code. */
  let begun = 0;
  for (let index = start; index < end; index++) {
    bits = (bits << 8 | from[index]) & 0xffff;
    have += 8;
    begun += 8;
    while (have >= 8) {
      const entry = TABLES[table + (bits >> (have - 8) & 0xff)];
      if (entry === 0) return -1;
      if ((entry & 1) === 1) {
        to[at++] = entry >> 1 & 0xff;
        have -= entry >> 9;
        begun = have;
        table = 0;
      } else {
        have -= 8;
        table = entry >> 1;
      }
    }
  }
  while (have > 0) {
    const entry = TABLES[table + (bits << (8 - have) & 0xff)];
    if ((entry & 1) === 0 || entry >> 9 > have) break;
    to[at++] = entry >> 1 & 0xff;
    have -= entry >> 9;
    begun = have;
    table = 0;
  }
  const isFilled = begun < 8 && (bits & 2 ** begun - 1) === 2 ** begun - 1;
  return isFilled ? at : -1;
}

/** Returns the bytes that {@link decodeHuffman} may produce. Each code has at least five bits. */
export const sizeOfDecoded = (bytes: number): number => Math.ceil(bytes * 8 / 5);
