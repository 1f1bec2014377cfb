// @ts-check
// Captures in other tools' formats.
import { bytesOf, decodeBase64, readable } from "../../../../web/viewer/text.js";

/** @typedef {import("../../../../common/captures/capture_json.ts").OpenedCaptureJson} Capture */

/** Fields that curl writes itself, or that describe one connection. */
const NOT_COPIED =
  /^(host|content-length|connection|keep-alive|proxy-connection|transfer-encoding|upgrade|te|expect)$/i;
/** From this size on, curl sends `Expect: 100-continue`. */
const EXPECT_BYTES = 1024 * 1024;

/**
 * Returns the shell command that sends a capture again: the same method, target, fields and body. It runs in every POSIX
 * shell, and leaves out curl's default fields.
 * @param {Capture} capture
 * @param {string} captureUrl the view's URL
 * @param {Uint8Array<ArrayBuffer> | null} body null when it is too long for a command
 */
export function toCurl(capture, captureUrl, body) {
  const { method, path, query, headers, bodySize, id } = capture;
  const has = (/** @type {string} */ wanted) => headers.some(([name]) => name.toLowerCase() === wanted);
  const target = path.replace(/^\/req\/[^/]*/, "") + (query === null ? "" : `?${query}`);
  const parts = [`curl ${quote(escapeBytes(captureUrl + target))}`];
  if (/[[\]{}]/.test(target)) parts.push("--globoff");
  if (/\/\.{1,2}(?=[/?]|$)/.test(target)) parts.push("--path-as-is");
  // curl drops a question mark without a query, and escapes bytes beyond ASCII.
  if (query === "" || escapeBytes(target) !== target) {
    parts.push(`--request-target ${quoteBytes(new URL(captureUrl).pathname + target)}`);
  }
  if (method === "HEAD" && bodySize === 0) parts.push("--head");
  else if (method === "HEAD") parts.push("-X HEAD", "--ignore-content-length", "-H 'Connection: close'");
  else if (method !== (bodySize > 0 ? "POST" : "GET")) parts.push(`-X ${quote(method)}`);
  for (const [name, value] of headers) {
    // A name with a colon alone would remove the field.
    if (!NOT_COPIED.test(name)) parts.push(`-H ${quoteBytes(value === "" ? `${name};` : `${name}: ${value}`)}`);
  }
  for (const name of ["Accept", "User-Agent"]) if (!has(name.toLowerCase())) parts.push(`-H '${name}:'`);
  if (bodySize === 0) {
    if (has("content-length")) parts.push("-H 'Content-Length: 0'");
    return parts.join(BREAK);
  }
  if (!has("content-type")) parts.push("-H 'Content-Type:'");
  if (has("transfer-encoding")) parts.push("-H 'Transfer-Encoding: chunked'");
  if (bodySize > EXPECT_BYTES) parts.push("-H 'Expect:'");
  if (body === null) parts.push(`--data-binary ${quote(`@capture-${id}`)}`);
  else if (isPlainText(body)) {
    parts.push(`--data-raw ${quote(new TextDecoder("utf-8", { ignoreBOM: true }).decode(body))}`);
  } else return [`printf ${quote(escapeAll(body))} |`, ...parts, "--data-binary @-"].join(BREAK);
  return parts.join(BREAK);
}

const BREAK = " \\\n  ";

/** Quotes text for a shell. @param {string} text */
const quote = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

/** Quotes text with one character a byte, so that the shell passes these bytes. @param {string} text */
function quoteBytes(text) {
  const bytes = bytesOf(text);
  return isPlainText(bytes) ? quote(readable(text)) : `"$(printf ${quote(escapeAll(bytes))})"`;
}

/** Whether a command can contain bytes as they are. @param {Uint8Array<ArrayBuffer>} bytes */
function isPlainText(bytes) {
  try {
    // deno-lint-ignore no-control-regex -- terminals act on these
    return !/[\x00-\x08\x0b-\x1f\x7f]/.test(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return false;
  }
}

/** Escapes all bytes for printf. @param {Uint8Array<ArrayBuffer>} bytes */
const escapeAll = (bytes) => Array.from(bytes, (byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");

/** @param {string} url one character a byte */
const escapeBytes = (url) =>
  url.replace(/[^\x21\x22\x24-\x7e]/g, (char) => `%${char.charCodeAt(0).toString(16).padStart(2, "0").toUpperCase()}`);

/**
 * Returns captures as HAR 1.2, which browsers and other tools import.
 * @param {readonly Capture[]} captures with their bodies
 * @param {string} captureUrl the view's URL
 * @param {string} version this program's version
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
      cookies: parseCookies(capture.headers),
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

/**
 * Parses a request's Cookie fields.
 * @param {Capture["headers"]} headers
 */
function parseCookies(headers) {
  return headers.filter(([name]) => name.toLowerCase() === "cookie")
    .flatMap(([, value]) => value.split(";")).map((pair) => readable(pair.trim())).filter((pair) => pair !== "")
    .map((pair) => {
      const at = pair.indexOf("=");
      return at < 0 ? { name: "", value: pair } : { name: pair.slice(0, at), value: pair.slice(at + 1) };
    });
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
 * Returns captures as JSON Lines.
 * @param {readonly Capture[]} captures
 */
export function toJsonLines(captures) {
  return captures.map((capture) => JSON.stringify(capture) + "\n").join("");
}
