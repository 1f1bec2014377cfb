// @ts-check
import { indentJson } from "./json_indent.js";
import { readMultipart } from "./multipart.js";
import { indentXml } from "./xml_indent.js";

/**
 * A body in the form in which it is best read.
 * @typedef {{ kind: "empty" | "binary" }
 *   | { kind: "json" | "xml" | "text", text: string }
 *   | { kind: "form", fields: [string, string][] }
 *   | { kind: "multipart", parts: import("./multipart.js").Part[] }} ReadableBody
 */

/**
 * Finds out what a body is, by its type and by what is in it.
 * @param {Uint8Array<ArrayBuffer>} bytes all of it, or its beginning
 * @param {string | null} contentType
 * @param {boolean} isWhole
 * @returns {ReadableBody}
 */
export function readBody(bytes, contentType, isWhole) {
  if (bytes.length === 0) return { kind: "empty" };
  const type = (contentType ?? "").split(";")[0].trim().toLowerCase();
  if (type.startsWith("multipart/")) {
    const parts = readMultipart(bytes, contentType ?? "");
    if (parts !== null) return { kind: "multipart", parts };
  }
  const text = decodeText(bytes, isWhole);
  if (text === null) return { kind: "binary" };
  if (type === "application/x-www-form-urlencoded" && isWhole) {
    const json = /^\s*[{[]/.test(text) ? indentJson(text) : null;
    // What curl sends unless it is told otherwise.
    return json === null ? { kind: "form", fields: [...new URLSearchParams(text)] } : { kind: "json", text: json };
  }
  if (isWhole && (/[/+]json$/.test(type) || /^\s*[{[]/.test(text))) {
    const json = indentJson(text);
    if (json !== null) return { kind: "json", text: json };
  }
  if (/[/+]xml$/.test(type) || /^\s*<\?xml/.test(text)) {
    const xml = indentXml(text);
    if (xml !== null) return { kind: "xml", text: xml };
  }
  return { kind: "text", text };
}

/**
 * The bytes as text; null when they are none.
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {boolean} isWhole whether the last character is whole
 */
export function decodeText(bytes, isWhole) {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: !isWhole });
  } catch {
    return null;
  }
}
