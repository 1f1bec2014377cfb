// @ts-check
/** @typedef {import("../../../../common/captures/capture_json.ts").OpenedCaptureJson} Capture */
/** @typedef {import("./capture_types.ts").Filter} Filter */

/**
 * The bytes of base64.
 * @param {string} base64
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function decodeBase64(base64) {
  return bytesOf(atob(base64));
}

/**
 * Text of one character a byte as bytes.
 * @param {string} text
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function bytesOf(text) {
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}

/**
 * Bytes as text of one character each.
 * @param {Uint8Array} bytes
 */
export function byteText(bytes) {
  const step = 8192;
  let text = "";
  for (let at = 0; at < bytes.length; at += step) text += String.fromCharCode(...bytes.subarray(at, at + step));
  return text;
}

/**
 * What a header's value says: UTF-8 where it is that, else one character a byte.
 * @param {string} value
 */
export function readable(value) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytesOf(value));
  } catch {
    return value;
  }
}

/**
 * Path and query below the view.
 * @param {Pick<Capture, "path" | "query">} capture
 */
export function shownPath({ path, query }) {
  const below = path.replace(/^\/req\/[^/]*/, "");
  return readable(`${below || "/"}${query === null ? "" : `?${query}`}`);
}

/**
 * How a body is coded, by its Content-Encoding, in the order in which that was done.
 * @param {readonly (readonly [name: string, value: string])[]} headers
 */
export function codingsOf(headers) {
  return headers.filter(([name]) => name.toLowerCase() === "content-encoding")
    .flatMap(([, value]) => value.toLowerCase().split(",").map((one) => one.trim()))
    .filter((one) => one !== "" && one !== "identity");
}

/**
 * Bytes for people.
 * @param {number} bytes
 */
export function formatBodySize(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  const unit = bytes < 1e6 ? 1e3 : bytes < 1e9 ? 1e6 : 1e9;
  const value = bytes / unit;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${{ 1e3: "kB", 1e6: "MB", 1e9: "GB" }[unit]}`;
}

/**
 * Describes how many calls a list shows.
 * @param {number} shown
 * @param {number | null} total null when the number of matches is unknown
 * @param {boolean} isWhole whether the list contains them all
 */
export function describeCount(shown, total, isWhole) {
  if (!isWhole && total === null) return `The newest ${shown} that match, more below`;
  const count = isWhole || total === null ? shown : Math.max(shown, total);
  return `${count} ${count === 1 ? "call" : "calls"}`;
}

/**
 * Whether a capture that has just come is one of those that are looked for, as the server decides it.
 * @param {Capture} capture with its body, as far as it is there
 * @param {Filter} filter
 */
export function matches(capture, { q, method, path, from, to }) {
  const target = `${capture.path}${capture.query === null ? "" : `?${capture.query}`}`.toLowerCase();
  const time = Date.parse(capture.receivedAt);
  if (method !== "" && capture.method !== method) return false;
  if (path !== "" && !target.includes(wanted(path))) return false;
  if (from !== "" && time < Date.parse(from)) return false;
  if (to !== "" && time >= Date.parse(to)) return false;
  if (q === "") return true;
  const lines = capture.headers.map(([name, value]) => `${name}: ${value}`);
  const head = [capture.method, target, ...lines].join("\n").toLowerCase();
  return head.includes(wanted(q)) ||
    (capture.body !== undefined && atob(capture.body).toLowerCase().includes(wanted(q)));
}

/** @param {string} text */
const wanted = (text) => byteText(new TextEncoder().encode(text)).toLowerCase();

/**
 * The query of the API for a filter.
 * @param {Filter} filter
 */
export function queryOf(filter) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filter)) if (value !== "") query.set(name, value);
  return query;
}

/** The class that colours a method. @param {string} method */
export function methodClass(method) {
  return /^(GET|HEAD|POST|PUT|PATCH|DELETE)$/.test(method) ? method.toLowerCase() : "other";
}
