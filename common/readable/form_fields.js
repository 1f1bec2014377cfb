// @ts-check
// Forms as fields: multipart (RFC 7578) and application/x-www-form-urlencoded.
import { createTextDecoder, decodeText } from "./decode_text.js";

const MAX_PARTS = 200;
const ENCODER = new TextEncoder();
const CRLF = ENCODER.encode("\r\n");
const BLANK = ENCODER.encode("\r\n\r\n");
const AMPERSAND = 0x26, EQUALS = 0x3d, PLUS = 0x2b, PERCENT = 0x25, SPACE = 0x20;

/**
 * @typedef {object} Part
 * @property {string} name
 * @property {string | null} fileName
 * @property {string | null} type its Content-Type, with the form's `_charset_` when the part has no type
 * @property {Uint8Array<ArrayBuffer>} body
 * @property {boolean} isWhole false when the body ends before the part does
 */

/**
 * Parses a multipart body. Returns the parts that the bytes contain, or null when there are none.
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {string} contentType
 * @returns {Part[] | null}
 */
export function readMultipart(bytes, contentType) {
  const match = /;\s*boundary=(?:"([^"]{1,200})"|([^\s;]{1,200}))/i.exec(contentType);
  if (match === null) return null;
  const mark = ENCODER.encode(`--${match[1] ?? match[2]}`);
  /** @type {Part[]} */
  const parts = [];
  for (let at = find(bytes, mark, 0); at >= 0 && parts.length < MAX_PARTS;) {
    const start = at + mark.length;
    if (bytes[start] === 0x2d && bytes[start + 1] === 0x2d) break;
    const next = find(bytes, mark, start);
    const end = next < 0 ? bytes.length : Math.max(start, next - CRLF.length);
    const blank = find(bytes, BLANK, start);
    if (blank < 0 || blank > end) break;
    const head = new TextDecoder().decode(bytes.subarray(start, blank));
    parts.push({ ...readHead(head), body: bytes.slice(blank + BLANK.length, end), isWhole: next >= 0 });
    at = next;
  }
  return parts.length === 0 ? null : applyCharset(parts);
}

/**
 * Adds the charset from a `_charset_` field (RFC 7578, section 4.6) to text fields without a type.
 * @param {Part[]} parts
 */
function applyCharset(parts) {
  const declared = parts.find(({ name }) => name === "_charset_");
  if (declared === undefined) return parts;
  const charset = new TextDecoder().decode(declared.body).trim();
  return parts.map((part) =>
    part.type === null && part.fileName === null ? { ...part, type: `text/plain; charset="${charset}"` } : part
  );
}

/** @param {string} head */
function readHead(head) {
  const disposition = /^content-disposition:(.*)$/im.exec(head)?.[1] ?? "";
  /** @param {string} name */
  const parameter = (name) => new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;]+))`, "i").exec(disposition);
  const name = parameter("name"), file = parameter("filename");
  return {
    name: name === null ? "" : name[1] ?? name[2],
    fileName: file === null ? null : file[1] ?? file[2],
    type: /^content-type:\s*(.*?)\s*$/im.exec(head)?.[1] ?? null,
  };
}

/**
 * @param {Uint8Array} bytes
 * @param {Uint8Array} wanted
 * @param {number} from
 */
function find(bytes, wanted, from) {
  for (let at = bytes.indexOf(wanted[0], from); at >= 0; at = bytes.indexOf(wanted[0], at + 1)) {
    let length = 1;
    while (length < wanted.length && bytes[at + length] === wanted[length]) length++;
    if (length === wanted.length) return at;
  }
  return -1;
}

/**
 * Parses an `application/x-www-form-urlencoded` body. A `_charset_` field, else `charset`, decodes names and values.
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {string | null} charset
 * @returns {[name: string, value: string][] | null} null for a body without `=`, which is no form
 */
export function parseFormFields(bytes, charset) {
  const pairs = split(bytes, AMPERSAND, Infinity).filter((pair) => pair.length > 0).map((pair) => {
    const [name, value = new Uint8Array(0)] = split(pair, EQUALS, 2);
    return /** @type {const} */ ([unescapeBytes(name), unescapeBytes(value)]);
  });
  if (!bytes.includes(EQUALS)) return null;
  const declared = pairs.find(([name]) => new TextDecoder().decode(name) === "_charset_")?.[1];
  const label = declared === undefined || declared.length === 0 ? charset : new TextDecoder().decode(declared);
  const decode = (/** @type {Uint8Array<ArrayBuffer>} */ part) =>
    decodeText(part, label, true) ?? createTextDecoder(label).decode(part);
  return pairs.map(([name, value]) => [decode(name), decode(value)]);
}

/**
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {number} separator
 * @param {number} most parts; the last one keeps further separators
 */
function split(bytes, separator, most) {
  const parts = [];
  let start = 0;
  for (let at = bytes.indexOf(separator); at >= 0 && parts.length + 1 < most; at = bytes.indexOf(separator, start)) {
    parts.push(bytes.subarray(start, at));
    start = at + 1;
  }
  parts.push(bytes.subarray(start));
  return parts;
}

/**
 * Replaces `+` and `%XX` by their bytes.
 * @param {Uint8Array<ArrayBuffer>} escaped
 */
function unescapeBytes(escaped) {
  const bytes = new Uint8Array(escaped.length);
  let length = 0;
  for (let at = 0; at < escaped.length; at++) {
    const byte = escaped[at];
    const digits = byte === PERCENT ? String.fromCharCode(...escaped.subarray(at + 1, at + 3)) : "";
    if (/^[\da-f]{2}$/i.test(digits)) {
      bytes[length++] = parseInt(digits, 16);
      at += 2;
    } else bytes[length++] = byte === PLUS ? SPACE : byte;
  }
  return bytes.slice(0, length);
}
