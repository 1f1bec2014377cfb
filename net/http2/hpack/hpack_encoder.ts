/**
 * Encodes fields with the static table only and stores none (RFC 7541, section 6.2.2). The encoder needs no state for a
 * connection, and no encoded length reveals another field.
 */

const SPACE = 0x20, TAB = 0x09;
/** Static table indexes for complete status fields. */
const STATUSES: ReadonlyMap<number, number> = new Map([
  [200, 8],
  [204, 9],
  [206, 10],
  [304, 11],
  [400, 12],
  [404, 13],
  [500, 14],
]);
/** Static table index for the name alone. */
const STATUS_NAME = 8;
/** Bytes that {@link writeStatus} writes at most. */
export const STATUS_SIZE = 5;
/** Bytes that {@link writeField} writes at most, apart from name and value. */
export const FIELD_OVERHEAD = 13;

/** Writes the `:status` of a response at `at`. @returns the offset after it */
export function writeStatus(to: Uint8Array, at: number, status: number): number {
  const index = STATUSES.get(status);
  if (index !== undefined) {
    to[at] = 0x80 | index;
    return at + 1;
  }
  to[at++] = STATUS_NAME;
  to[at++] = 3;
  to[at++] = 0x30 + Math.floor(status / 100);
  to[at++] = 0x30 + Math.floor(status / 10) % 10;
  to[at++] = 0x30 + status % 10;
  return at;
}

/**
 * Writes a field at `at`: the name `from[nameStart, nameEnd)` in lower case and the value without surrounding white space.
 * @returns the offset after the field
 */
export function writeField(
  to: Uint8Array,
  at: number,
  from: Uint8Array,
  nameStart: number,
  nameEnd: number,
  valueStart: number,
  valueEnd: number,
): number {
  while (valueStart < valueEnd && isSpace(from[valueStart])) valueStart++;
  while (valueEnd > valueStart && isSpace(from[valueEnd - 1])) valueEnd--;
  to[at++] = 0;
  at = writeLength(to, at, nameEnd - nameStart);
  for (let index = nameStart; index < nameEnd; index++) {
    const byte = from[index];
    to[at++] = byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
  }
  at = writeLength(to, at, valueEnd - valueStart);
  to.set(from.subarray(valueStart, valueEnd), at);
  return at + valueEnd - valueStart;
}

const isSpace = (byte: number) => byte === SPACE || byte === TAB;

/** Writes the length of a plain string (RFC 7541, section 5.1). */
function writeLength(to: Uint8Array, at: number, length: number): number {
  if (length < 0x7f) {
    to[at++] = length;
    return at;
  }
  to[at++] = 0x7f;
  let rest = length - 0x7f;
  for (; rest >= 0x80; rest >>= 7) to[at++] = rest & 0x7f | 0x80;
  to[at++] = rest;
  return at;
}
