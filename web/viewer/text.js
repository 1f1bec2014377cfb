// @ts-check
// Text of requests and responses, for people.

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
 * How a body is coded, by its Content-Encoding, in the order in which that was done.
 * @param {readonly (readonly [name: string, value: string])[]} headers
 */
export function codingsOf(headers) {
  return headers.filter(([name]) => name.toLowerCase() === "content-encoding")
    .flatMap(([, value]) => value.toLowerCase().split(",").map((one) => one.trim()))
    .filter((one) => one !== "" && one !== "identity");
}

/** The class that colours a method. @param {string} method */
export function methodClass(method) {
  return /^(GET|HEAD|POST|PUT|PATCH|DELETE)$/.test(method) ? method.toLowerCase() : "other";
}
