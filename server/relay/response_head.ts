import { checkFieldLines } from "../../common/http1/mod.ts";
import { isDroppedFromResponse, namedByConnection } from "./hygiene.ts";

/** A response's fields as pairs, ready for `new Response`. */
export type HeaderPairs = [name: string, value: string][];

/**
 * Reads the field lines of an answer, drops what belongs to one connection, keeps order and duplicates.
 * @throws FieldSyntaxError for a line that is no field line (RFC 9112, section 5)
 */
export function parseResponseHead(frame: Uint8Array, start: number, end: number): HeaderPairs {
  const isAscii = checkFieldLines(frame, start, end);
  const block = frame.subarray(start, end);
  const text = isAscii ? DECODER.decode(block) : decodeLatin1(block);
  const pairs: HeaderPairs = [];
  let named: ReadonlySet<string> | null = null;
  for (let at = 0; at < text.length;) {
    const colon = text.indexOf(":", at), lineEnd = text.indexOf("\r\n", colon);
    const name = text.slice(at, colon).toLowerCase();
    const value = text.slice(colon + (text.charCodeAt(colon + 1) === SPACE ? 2 : 1), lineEnd);
    at = lineEnd + 2;
    if (name === "connection") named = joinNames(named, namedByConnection(value));
    if (!isDroppedFromResponse(name)) pairs.push([name, value]);
  }
  return named === null ? pairs : pairs.filter(([name]) => !named.has(name));
}

type Names = ReadonlySet<string> | null;

/** Several Connection fields count as one. */
function joinNames(some: Names, more: Names): Names {
  return some === null || more === null ? some ?? more : new Set([...some, ...more]);
}

const SPACE = 0x20;
const DECODER = new TextDecoder();

/** Bytes as characters, one each. `TextDecoder` knows Latin-1 only as windows-1252, which moves 0x80 to 0x9f. */
function decodeLatin1(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}
