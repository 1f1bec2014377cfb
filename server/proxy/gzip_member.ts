const ID = [0x1f, 0x8b, 8];
const FIXED_BYTES = 10;
const TRAILER_BYTES = 8;
/** Bits of the flags (RFC 1952, section 2.3.1): what else the header holds. */
const HAS_CRC = 2, HAS_EXTRA = 4, HAS_NAME = 8, HAS_COMMENT = 16;

/**
 * The first gzip member where bytes follow that begin no other one, as some servers send; browsers pass those over,
 * while zlib fails. Null where that is not so.
 * @param inflate undoes the bare deflate that `bytes` begin with, and resolves with how many bytes of them it was.
 * @throws what `inflate` does
 */
export async function cutMember(
  bytes: Uint8Array,
  inflate: (bytes: Uint8Array) => Promise<number>,
): Promise<Uint8Array | null> {
  const start = skipHeader(bytes);
  const end = start + await inflate(bytes.subarray(start)) + TRAILER_BYTES;
  return end < bytes.length && !beginsMember(bytes, end) ? bytes.subarray(0, end) : null;
}

const beginsMember = (bytes: Uint8Array, at: number): boolean => ID.every((byte, index) => bytes[at + index] === byte);

/** The offset of the compressed data; beyond the end when the header is cut short. */
function skipHeader(bytes: Uint8Array): number {
  const flags = bytes[3];
  let at = FIXED_BYTES;
  if (flags & HAS_EXTRA) at += 2 + bytes[at] + (bytes[at + 1] << 8);
  for (const flag of [HAS_NAME, HAS_COMMENT]) {
    if (!(flags & flag)) continue;
    const zero = bytes.indexOf(0, at);
    at = zero < 0 ? bytes.length : zero + 1;
  }
  return flags & HAS_CRC ? at + 2 : at;
}
