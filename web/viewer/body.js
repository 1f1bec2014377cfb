// @ts-check
import { charsetOf, decodeText } from "../../common/readable/decode_text.js";
import { hexLines } from "../../common/readable/hex_lines.js";
import { readBody } from "../../common/readable/readable_body.js";
import { h } from "../browser/dom.js";
import { formatSize } from "../browser/format.js";
import { byteText } from "./text.js";

/**
 * A body, or the part that has arrived.
 * @typedef {{ bytes: Uint8Array<ArrayBuffer>, isWhole: boolean }} Shown
 */

/** Most bytes on the page; more would slow it down. The download has them all. */
export const SHOWN_BYTES = 512 * 1024;
const HEX_BYTES = 16 * 1024;
/** Image types in which browsers run no script. */
const PICTURES = /^image\/(png|jpeg|gif|webp|avif)$/;

/**
 * Renders a body. The page never runs its content.
 * @param {Shown} body
 * @param {string} form "pretty", "raw" or "hex"
 * @param {string | null} contentType
 * @returns {HTMLElement[]}
 */
export function showBytes({ bytes: all, isWhole: isAll }, form, contentType) {
  const bytes = all.slice(0, SHOWN_BYTES), isWhole = isAll && bytes.length === all.length;
  const nodes = form === "hex"
    ? [hex(all)]
    : form === "raw"
    ? [pre(decodeRaw(bytes, contentType, isWhole))]
    : prettify(bytes, contentType, isWhole);
  const isCut = form === "hex" ? all.length > HEX_BYTES : !isWhole;
  if (!isCut) return nodes;
  const about = isAll ? `The beginning of ${formatSize(all.length)}.` : "There is more, or it broke off here.";
  return [...nodes, h("p", { class: "nothing" }, [about])];
}

/**
 * Decodes a body by its charset, with replacement characters for bytes that are not text.
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {string | null} contentType
 * @param {boolean} isWhole
 */
function decodeRaw(bytes, contentType, isWhole) {
  return decodeText(bytes, charsetOf(contentType), isWhole) ?? new TextDecoder().decode(bytes);
}

/**
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {string | null} contentType
 * @param {boolean} isWhole
 * @returns {HTMLElement[]}
 */
function prettify(bytes, contentType, isWhole) {
  const type = (contentType ?? "").split(";")[0].trim().toLowerCase();
  if (isWhole && PICTURES.test(type)) {
    const url = `data:${type};base64,${btoa(byteText(bytes))}`;
    return [h("img", { src: url, alt: "The picture that was sent", class: "picture" })];
  }
  const body = readBody(bytes, contentType, isWhole);
  switch (body.kind) {
    case "empty":
      return [];
    case "binary":
      return [hex(bytes)];
    case "form":
      return [table(body.fields)];
    case "multipart":
      return body.parts.flatMap((part) => [
        h("h4", {}, [`${part.name}${part.fileName === null ? "" : ` · ${part.fileName}`}`]),
        ...prettify(part.body, part.type ?? "text/plain", part.isWhole),
      ]);
    case "json":
    case "xml":
    case "text":
      return [pre(body.text)];
  }
}

/**
 * @param {Uint8Array<ArrayBuffer>} bytes
 */
function hex(bytes) {
  const lines = pre(hexLines(bytes.subarray(0, HEX_BYTES)).join("\n"));
  lines.classList.add("hex");
  return lines;
}

/**
 * Returns a table with a row for each name and value.
 * @param {readonly (readonly [string, string])[]} rows
 */
export function table(rows) {
  const lines = rows.map(([name, value]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, value)));
  return h("table", { class: "pairs" }, h("tbody", {}, lines));
}

/**
 * Returns preformatted text that keys can scroll.
 * @param {string} text
 */
function pre(text) {
  return h("pre", { tabindex: "0" }, text);
}
