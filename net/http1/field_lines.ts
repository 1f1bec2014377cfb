/**
 * Syntax for HTTP/1.1 field lines (RFC 9112, section 5), checked on bytes without copies. Both ends of a tunnel check
 * each head, and reject all ambiguous input: line folding, a bare CR or LF, NUL and other control bytes, white space
 * before the colon.
 */

/** Default limit for field lines in a head. Browsers and services send one or two dozen; each line costs work. */
export const MAX_FIELDS = 256;

/** An invalid block of field lines. The message names the reason. */
export class FieldSyntaxError extends SyntaxError {
  override name = "FieldSyntaxError";
}

/** Carriage return. */
export const CR = 0x0d;
/** Line feed. */
export const LF = 0x0a;
const SPACE = 0x20;
const TAB = 0x09;
/** `:`. */
export const COLON = 0x3a;
const COMMA = 0x2c;

/** 1 for token bytes (RFC 9110, section 5.6.2). */
export const TOKEN_BYTES = createByteTable((byte) => /[!#$%&'*+\-.^_`|~0-9A-Za-z]/.test(String.fromCharCode(byte)));
/** 1 for bytes in a field value or a reason phrase: printable ASCII, space, tab, and 0x80 to 0xff. */
export const VALUE_BYTES = createByteTable((byte) => byte === TAB || (byte >= SPACE && byte !== 0x7f));
/** 1 for bytes in a request target: {@link VALUE_BYTES} without space and tab. */
export const TARGET_BYTES = createByteTable((byte) => byte > SPACE && byte !== 0x7f);

function createByteTable(has: (byte: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => has(byte) ? 1 : 0);
}

/** The offsets of one field in its buffer. The value includes surrounding white space. */
export type OnField = (nameStart: number, nameEnd: number, valueStart: number, valueEnd: number) => void;

/**
 * Checks field lines up to and including the blank line at the end.
 * @returns the offset after that blank line, or -1 when it is not within `buffer[start, end)` yet
 * @throws FieldSyntaxError
 */
export function scanFieldLines(buffer: Uint8Array, start: number, end: number, onField?: OnField): number {
  for (let at = start; at < end;) {
    if (buffer[at] === CR) return scanLineEnd(buffer, at, end);
    const colon = scanFieldName(buffer, at, end);
    if (colon < 0) return -1;
    const valueEnd = scanValue(buffer, colon + 1, end);
    if (valueEnd < 0) return -1;
    onField?.(at, colon, colon + 1, valueEnd);
    at = valueEnd + 2;
  }
  return -1;
}

/**
 * Checks that `buffer[start, end)` contains only complete field lines, each with its CRLF, and no blank line. It may be
 * empty.
 * @returns whether all bytes are ASCII, and therefore equal in Latin-1 and UTF-8
 * @throws FieldSyntaxError
 */
export function checkFieldLines(buffer: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end;) {
    const colon = scanFieldName(buffer, at, end);
    const valueEnd = colon < 0 ? -1 : scanValue(buffer, colon + 1, end);
    if (valueEnd < 0) throw new FieldSyntaxError("the last field line is cut short");
    at = valueEnd + 2;
  }
  return isAscii(buffer, start, end);
}

function isAscii(buffer: Uint8Array, start: number, end: number): boolean {
  let seen = 0;
  for (let at = start; at < end; at++) seen |= buffer[at];
  return seen < 0x80;
}

/**
 * Moves the colon of a response's field name to the name's end, and leaves the white space before it to the value. A
 * proxy must remove that white space (RFC 9112, section 5.1); requests with it are refused.
 * @param at the first byte after the name
 * @returns the offset of the colon; `at` for anything else than white space and a colon; -1 for an incomplete line
 */
export function closeFieldName(buffer: Uint8Array, start: number, at: number, end: number): number {
  const colon = skipSpace(buffer, at, end);
  if (colon === end) return -1;
  if (colon === at || at === start || buffer[colon] !== COLON) return at;
  buffer[colon] = SPACE;
  buffer[at] = COLON;
  return at;
}

/**
 * Returns the offset of the colon after the field name at `start`, or -1 for an incomplete name.
 * @throws FieldSyntaxError
 */
export function scanFieldName(buffer: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && TOKEN_BYTES[buffer[at]] === 1) at++;
  if (at === end) return -1;
  if (buffer[at] !== COLON || at === start) throw nameError(buffer, start, at);
  return at;
}

function nameError(buffer: Uint8Array, start: number, at: number): FieldSyntaxError {
  const byte = buffer[at];
  if (at > start) return new FieldSyntaxError(`${describeByte(byte)} in the field name ${quote(buffer, start, at)}`);
  if (byte === SPACE || byte === TAB) {
    return new FieldSyntaxError("a field line starts with white space (line folding)");
  }
  if (byte === COLON) return new FieldSyntaxError("a field name is empty");
  return new FieldSyntaxError(`a field line starts with ${describeByte(byte)}`);
}

/**
 * Returns the offset of the CRLF after the text at `start`, or -1 for incomplete text.
 * @param view over the same buffer, which halves the time for long values
 * @throws FieldSyntaxError for a byte that a value cannot contain
 */
export function scanValue(buffer: Uint8Array, start: number, end: number, view?: DataView): number {
  let at = view === undefined ? start : skipPrintable(view, start, end);
  while (at < end && VALUE_BYTES[buffer[at]] === 1) at++;
  if (at < end && buffer[at] !== CR) throw new FieldSyntaxError(`${describeByte(buffer[at])} inside a line`);
  return scanLineEnd(buffer, at, end) < 0 ? -1 : at;
}

/** Four bytes each: the highest bit, 0x20, and 1. */
const HIGHEST = 0x80808080, SPACES = 0x20202020, ONES = 0x01010101;

/**
 * Skips bytes that a value can contain, four at a time; more may follow. For a byte below 0x80, subtracting 0x20 sets
 * the highest bit for control bytes, and adding 1 sets it for 0x7f. Borrows and carries between bytes hide neither.
 */
function skipPrintable(view: DataView, start: number, end: number): number {
  let at = start;
  for (; at + 4 <= end; at += 4) {
    const four = view.getInt32(at, true);
    if ((((four - SPACES) | (four + ONES)) & ~four & HIGHEST) !== 0) break;
  }
  return at;
}

/** Returns the offset after the LF that must follow the CR at `at`, or -1 when it is missing so far. */
function scanLineEnd(buffer: Uint8Array, at: number, end: number): number {
  if (at + 1 >= end) return -1;
  if (buffer[at + 1] !== LF) throw new FieldSyntaxError("a bare CR inside a line");
  return at + 2;
}

/** Reports whether `buffer[start, end)` equals `word` without case. `word` has lower-case letters and `-` only. */
export function isWord(buffer: Uint8Array, start: number, end: number, word: string): boolean {
  if (end - start !== word.length) return false;
  for (let index = 0; index < word.length; index++) {
    if ((buffer[start + index] | 0x20) !== word.charCodeAt(index)) return false;
  }
  return true;
}

/** Returns the offset of the first byte that is not white space, or `end`. */
export function skipSpace(buffer: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && (buffer[at] === SPACE || buffer[at] === TAB)) at++;
  return at;
}

/** Returns the offset after the last byte that is not white space, or `start`. */
export function trimSpace(buffer: Uint8Array, start: number, end: number): number {
  let at = end;
  while (at > start && (buffer[at - 1] === SPACE || buffer[at - 1] === TAB)) at--;
  return at;
}

/** Reports whether a comma-separated list contains `word`; see {@link isWord}. */
export function listHasWord(buffer: Uint8Array, start: number, end: number, word: string): boolean {
  for (let at = start; at < end;) {
    let comma = at;
    while (comma < end && buffer[comma] !== COMMA) comma++;
    const from = skipSpace(buffer, at, comma);
    if (isWord(buffer, from, trimSpace(buffer, from, comma), word)) return true;
    at = comma + 1;
  }
  return false;
}

/**
 * Parses a Content-Length value (RFC 9110, section 8.6): digits only, at most 2^53-1. A list of equal numbers is an
 * error like two lines, because parsers differ on both.
 * @throws FieldSyntaxError
 */
export function parseContentLength(buffer: Uint8Array, start: number, end: number): number {
  const from = skipSpace(buffer, start, end);
  return parseDigits(buffer, from, trimSpace(buffer, from, end));
}

function parseDigits(buffer: Uint8Array, start: number, end: number): number {
  let value = 0;
  for (let at = start; at < end; at++) {
    const digit = buffer[at] - 0x30;
    value = digit >= 0 && digit <= 9 ? value * 10 + digit : NaN;
  }
  if (start === end || !(value <= Number.MAX_SAFE_INTEGER)) {
    throw new FieldSyntaxError(`the length ${quote(buffer, start, end)} is not a whole number up to 2^53-1`);
  }
  return value;
}

/** Returns a byte for a message: its character if printable, otherwise its number. */
export function describeByte(byte: number): string {
  if (byte === LF) return "a bare LF";
  if (byte > SPACE && byte < 0x7f) return `"${String.fromCharCode(byte)}"`;
  return byte === SPACE ? "a space" : `byte 0x${byte.toString(16).padStart(2, "0")}`;
}

/** Byte limit in a message, so that it fits on a line. */
const MAX_QUOTED = 60;

/** Returns bytes for a message: quoted, escaped, and shortened. */
export function quote(buffer: Uint8Array, start: number, end: number): string {
  const shown = buffer.subarray(start, Math.min(end, start + MAX_QUOTED));
  const text = JSON.stringify(String.fromCharCode(...shown));
  return (end - start > MAX_QUOTED ? text + "..." : text).replace(/[\x7f-\x9f]/g, "?");
}

/** Safe number of arguments for one call. */
const CALL_BYTES = 4096;

/**
 * Decodes bytes as ISO 8859-1, the encoding for header fields (RFC 9110, section 5.5). `TextDecoder` treats Latin-1 as
 * windows-1252, which changes 0x80 to 0x9f.
 */
export function decodeLatin1(bytes: Uint8Array, start: number, end: number): string {
  if (end - start <= CALL_BYTES) return decodeChunk(bytes, start, end);
  let text = "";
  for (let at = start; at < end; at += CALL_BYTES) text += decodeChunk(bytes, at, Math.min(end, at + CALL_BYTES));
  return text;
}

/** Spreading the bytes would take eight times as long. */
function decodeChunk(bytes: Uint8Array, start: number, end: number): string {
  return Reflect.apply(String.fromCharCode, null, bytes.subarray(start, end));
}

/** Encodes characters up to U+00FF, one byte each. */
export function encodeLatin1(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) bytes[index] = text.charCodeAt(index);
  return bytes;
}

/**
 * Lower-case names for connection-specific fields, which are never forwarded (RFC 9110, section 7.6.1). `connection`
 * itself names more.
 */
export const CONNECTION_FIELDS: readonly string[] = [
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];
