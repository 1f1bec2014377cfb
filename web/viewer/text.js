// @ts-check
// Request and response text for people.

/**
 * Decodes base64.
 * @param {string} base64
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function decodeBase64(base64) {
  return bytesOf(atob(base64));
}

/**
 * Converts text with one character per byte to bytes.
 * @param {string} text
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function bytesOf(text) {
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}

/**
 * Converts bytes to text with one character per byte.
 * @param {Uint8Array} bytes
 */
export function byteText(bytes) {
  const step = 8192;
  let text = "";
  for (let at = 0; at < bytes.length; at += step) text += String.fromCharCode(...bytes.subarray(at, at + step));
  return text;
}

/**
 * Decodes a header value as UTF-8, or as one character per byte when it is not UTF-8.
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
 * Lists a body's content encodings in the order in which the sender applied them.
 * @param {readonly (readonly [name: string, value: string])[]} headers
 */
export function codingsOf(headers) {
  return headers.filter(([name]) => name.toLowerCase() === "content-encoding")
    .flatMap(([, value]) => value.toLowerCase().split(",").map((one) => one.trim()))
    .filter((one) => one !== "" && one !== "identity");
}

/** Returns the CSS class for a method's colour. @param {string} method */
export function methodClass(method) {
  return /^(GET|HEAD|POST|PUT|PATCH|DELETE)$/.test(method) ? method.toLowerCase() : "other";
}
