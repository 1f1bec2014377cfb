// @ts-check
// The parts of a multipart body (RFC 7578), for looking at them.

const MAX_PARTS = 200;
const ENCODER = new TextEncoder();
const CRLF = ENCODER.encode("\r\n");
const BLANK = ENCODER.encode("\r\n\r\n");

/**
 * @typedef {object} Part
 * @property {string} name
 * @property {string | null} fileName
 * @property {string | null} type
 * @property {Uint8Array<ArrayBuffer>} body
 * @property {boolean} isWhole its end is there
 */

/**
 * The parts, as far as they are there; null when there is not even one.
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
  return parts.length === 0 ? null : parts;
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
