// @ts-check
// Captures in the forms in which others take them.
import { decodeBase64, readable } from "./capture_text.js";

/** @typedef {import("../../../../common/captures/capture_json.ts").OpenedCaptureJson} Capture */

/**
 * The command that sends a capture once more.
 * @param {Capture} capture
 * @param {string} captureUrl of its view
 * @param {Uint8Array<ArrayBuffer> | null} body null where it is too long to be part of a command
 */
export function toCurl(capture, captureUrl, body) {
  const { method, path, query, headers, bodySize, id } = capture;
  const below = path.replace(/^\/req\/[^/]*/, "");
  const url = captureUrl + below + (query === null ? "" : `?${query}`);
  const parts = [`curl ${quote(escapeBytes(url))}`];
  if (method !== "GET" || bodySize > 0) parts.push(`-X ${quote(method)}`);
  for (const [name, value] of headers) {
    if (/^(host|content-length|connection|transfer-encoding|expect)$/i.test(name)) continue;
    // A name with a colon alone would remove the field.
    parts.push(`-H ${quote(value === "" ? `${name};` : `${name}: ${readable(value)}`)}`);
  }
  if (bodySize > 0) parts.push(`--data-binary ${body === null ? quote(`@capture-${id}`) : quoteBytes(body)}`);
  return parts.join(" \\\n  ");
}

/** Text of a shell, which changes nothing between single quotes. @param {string} text */
const quote = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

/** @param {Uint8Array<ArrayBuffer>} bytes */
function quoteBytes(bytes) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    // deno-lint-ignore no-control-regex -- what a terminal would not take
    if (!/[\x00-\x08\x0b-\x1f\x7f]/.test(text) && !text.startsWith("@")) return quote(text);
  } catch {
    // Escaped below.
  }
  // curl takes no NUL in an argument: printf writes it.
  const escaped = Array.from(bytes, (byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
  return `@<(printf ${quote(escaped)})`;
}

/** @param {string} url with one character a byte */
const escapeBytes = (url) =>
  url.replace(/[^\x21-\x7e]/g, (char) => `%${char.charCodeAt(0).toString(16).padStart(2, "0").toUpperCase()}`);

/**
 * HAR 1.2 of captures, which browsers and other tools read.
 * @param {readonly Capture[]} captures with their bodies
 * @param {string} captureUrl of their view
 * @param {string} version of this program
 */
export function toHar(captures, captureUrl, version) {
  const { protocol } = new URL(captureUrl);
  const entries = captures.map((capture) => toEntry(capture, protocol));
  return JSON.stringify({ log: { version: "1.2", creator: { name: "Portway", version }, entries } });
}

/**
 * @param {Capture} capture
 * @param {string} protocol
 */
function toEntry(capture, protocol) {
  const { method, host, path, query, httpVersion, headers, receivedAt, bodySize } = capture;
  const url = `${protocol}//${host}${escapeBytes(path + (query === null ? "" : `?${query}`))}`;
  const fields = headers.map(([name, value]) => ({ name, value: readable(value) }));
  return {
    startedDateTime: receivedAt,
    time: 0,
    request: {
      method,
      url,
      httpVersion: `HTTP/${httpVersion}`,
      cookies: [],
      headers: fields,
      queryString: [...new URLSearchParams(query ?? "")].map(([name, value]) => ({ name, value })),
      ...(bodySize === 0 ? {} : { postData: toPostData(capture) }),
      headersSize: -1,
      bodySize,
    },
    response: {
      status: 0,
      statusText: "",
      httpVersion: `HTTP/${httpVersion}`,
      cookies: [],
      headers: [],
      content: { size: 0, mimeType: "" },
      redirectURL: "",
      headersSize: -1,
      bodySize: -1,
    },
    cache: {},
    timings: { send: 0, wait: 0, receive: 0 },
  };
}

/** @param {Capture} capture */
function toPostData({ body, contentType }) {
  const mimeType = contentType ?? "";
  if (body === undefined) return { mimeType, text: "", comment: "longer than is exported" };
  try {
    return { mimeType, text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(decodeBase64(body)) };
  } catch {
    return { mimeType, text: body, encoding: "base64" };
  }
}

/**
 * One JSON object a line.
 * @param {readonly Capture[]} captures
 */
export function toJsonLines(captures) {
  return captures.map((capture) => JSON.stringify(capture) + "\n").join("");
}
