// @ts-check
import { element, pre, table } from "./capture_dom.js";
import { byteText, formatBodySize } from "./capture_text.js";

/**
 * Readers of bodies, which the client uses too.
 * @typedef {{
 *   readBody: typeof import("../../../../common/readable/readable_body.js").readBody,
 *   hexLines: typeof import("../../../../common/readable/hex_lines.js").hexLines,
 *   decodeText: typeof import("../../../../common/readable/decode_text.js").decodeText,
 *   charsetOf: typeof import("../../../../common/readable/decode_text.js").charsetOf,
 * }} Readers
 */

/**
 * A body, or as much of it as is there.
 * @typedef {{ bytes: Uint8Array<ArrayBuffer>, isWhole: boolean }} Shown
 */

/** Bytes that are shown: more would only slow the page down. The file has them all. */
export const SHOWN_BYTES = 512 * 1024;
const HEX_BYTES = 16 * 1024;
/** Kinds of pictures that a browser shows without ever running anything in them. */
const PICTURES = /^image\/(png|jpeg|gif|webp|avif)$/;

/**
 * A body, for looking at. Nothing in it is ever run.
 * @param {Shown} body
 * @param {string} form "pretty", "raw" or "hex"
 * @param {string | null} contentType
 * @param {Readers} readers
 * @returns {HTMLElement[]}
 */
export function showBytes({ bytes: all, isWhole: isAll }, form, contentType, readers) {
  const bytes = all.slice(0, SHOWN_BYTES), isWhole = isAll && bytes.length === all.length;
  const nodes = form === "hex"
    ? [hex(all, readers)]
    : form === "raw"
    ? [pre(decodeRaw(bytes, contentType, isWhole, readers))]
    : prettify(bytes, contentType, isWhole, readers);
  const isCut = form === "hex" ? all.length > HEX_BYTES : !isWhole;
  if (!isCut) return nodes;
  const about = isAll ? `The beginning of ${formatBodySize(all.length)}.` : "There is more, or it broke off here.";
  return [...nodes, element("p", { class: "nothing" }, [about])];
}

/**
 * Decodes a body by its charset, with replacement characters for bytes that are not text.
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {string | null} contentType
 * @param {boolean} isWhole
 * @param {Readers} readers
 */
function decodeRaw(bytes, contentType, isWhole, { decodeText, charsetOf }) {
  return decodeText(bytes, charsetOf(contentType), isWhole) ?? new TextDecoder().decode(bytes);
}

/**
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {string | null} contentType
 * @param {boolean} isWhole
 * @param {Readers} readers
 * @returns {HTMLElement[]}
 */
function prettify(bytes, contentType, isWhole, readers) {
  const type = (contentType ?? "").split(";")[0].trim().toLowerCase();
  if (isWhole && PICTURES.test(type)) {
    const url = `data:${type};base64,${btoa(byteText(bytes))}`;
    return [element("img", { src: url, alt: "The picture that was sent", class: "picture" })];
  }
  const body = readers.readBody(bytes, contentType, isWhole);
  switch (body.kind) {
    case "empty":
      return [];
    case "binary":
      return [hex(bytes, readers)];
    case "form":
      return [table(body.fields)];
    case "multipart":
      return body.parts.flatMap((part) => [
        element("h4", {}, [`${part.name}${part.fileName === null ? "" : ` · ${part.fileName}`}`]),
        ...prettify(part.body, part.type ?? "text/plain", part.isWhole, readers),
      ]);
    case "json":
    case "xml":
    case "text":
      return [pre(body.text)];
  }
}

/**
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {Readers} readers
 */
function hex(bytes, { hexLines }) {
  const lines = pre(hexLines(bytes.subarray(0, HEX_BYTES)).join("\n"));
  lines.classList.add("hex");
  return lines;
}
