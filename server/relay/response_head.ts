import { isDroppedFromResponse, namedByConnection } from "./hygiene.ts";

/** A response's fields as pairs, ready for `new Response`. */
export type HeaderPairs = [name: string, value: string][];

/** The client sent a head that is not HTTP. */
export class ResponseHeadError extends Error {
  override name = "ResponseHeadError";
}

/**
 * Reads the field lines of an answer, drops what belongs to one connection, keeps order and duplicates.
 * @throws ResponseHeadError for a line that is no field line (RFC 9112, section 5)
 */
export function parseResponseHead(frame: Uint8Array, start: number, end: number): HeaderPairs {
  const text = decodeLatin1(frame, start, end);
  const pairs: HeaderPairs = [];
  let named: ReadonlySet<string> | null = null;
  for (let at = 0; at < text.length;) {
    const lineEnd = text.indexOf("\r\n", at);
    const colon = text.indexOf(":", at);
    if (lineEnd < 0 || colon < 0 || colon > lineEnd) throw new ResponseHeadError("a field line is malformed");
    const name = text.slice(at, colon).toLowerCase();
    const value = text.slice(colon + (text.charCodeAt(colon + 1) === SPACE ? 2 : 1), lineEnd);
    at = lineEnd + 2;
    if (!isToken(name) || !isValue(value)) throw new ResponseHeadError("a field line is malformed");
    if (name === "connection") named = namedByConnection(value);
    if (!isDroppedFromResponse(name)) pairs.push([name, value]);
  }
  return named === null ? pairs : pairs.filter(([name]) => !named.has(name));
}

const SPACE = 0x20;

/** RFC 9110, section 5.6.2. */
function isToken(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name);
}

/** RFC 9110, section 5.5: visible characters, space, tab and bytes above 0x7f. */
function isValue(value: string): boolean {
  return !/[^\t\x20-\x7e\x80-\xff]/.test(value);
}

const ASCII = new TextDecoder("utf-8");

/** Bytes as characters, one each. `TextDecoder` knows Latin-1 only as windows-1252, which moves 0x80 to 0x9f. */
function decodeLatin1(frame: Uint8Array, start: number, end: number): string {
  for (let i = start; i < end; i++) {
    if (frame[i] > 0x7f) return String.fromCharCode(...frame.subarray(start, end));
  }
  return ASCII.decode(frame.subarray(start, end));
}
