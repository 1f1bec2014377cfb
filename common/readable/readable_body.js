// @ts-check
import { charsetOf, decodeText } from "./decode_text.js";
import { parseFormFields, readMultipart } from "./form_fields.js";
import { indentJson } from "./json_indent.js";
import { indentXml } from "./xml_indent.js";

/**
 * A body in the form that people read best. A form's JSON values are indented.
 * @typedef {{ kind: "empty" | "binary" }
 *   | { kind: "json" | "xml" | "text", text: string }
 *   | { kind: "form", fields: [name: string, value: string][] }
 *   | { kind: "multipart", parts: import("./form_fields.js").Part[] }} ReadableBody
 */

/**
 * Chooses a body's readable form by its type and its content.
 * @param {Uint8Array<ArrayBuffer>} bytes the body or its beginning
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
  const charset = charsetOf(contentType);
  const text = decodeText(bytes, charset, isWhole);
  if (text === null) return { kind: "binary" };
  if (isWhole && (/[/+]json$/.test(type) || /^\s*[{[]/.test(text))) {
    const json = indentJson(text);
    if (json !== null) return { kind: "json", text: json };
  }
  if (type === "application/x-www-form-urlencoded" && isWhole) {
    const fields = parseFormFields(bytes, charset);
    return fields === null ? { kind: "text", text } : { kind: "form", fields: fields.map(indentField) };
  }
  if (/[/+]xml$/.test(type) || /^\s*<\?xml/.test(text)) {
    const xml = indentXml(text);
    if (xml !== null) return { kind: "xml", text: xml };
  }
  return { kind: "text", text };
}

/**
 * Indents a value that holds JSON, such as `payload` from GitHub and Slack.
 * @param {[name: string, value: string]} field
 * @returns {[name: string, value: string]}
 */
function indentField([name, value]) {
  const json = /^\s*[{[]/.test(value) ? indentJson(value) : null;
  return [name, json === null ? value : json.trimEnd()];
}
