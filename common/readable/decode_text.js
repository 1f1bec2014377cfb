// @ts-check
// Decodes text by its declared charset, for pages, the client and the proxy.

const CHARSET = /;\s*charset\s*=\s*(?:"([^"]{1,64})"|'([^']{1,64})'|([^\s;"']{1,64}))/i;

/**
 * Returns the charset that a Content-Type declares, or null.
 * @param {string | null | undefined} contentType
 */
export function charsetOf(contentType) {
  const match = CHARSET.exec(contentType ?? "");
  return match === null ? null : match[1] ?? match[2] ?? match[3];
}

/**
 * Creates a decoder for a charset label; UTF-8 for null and for unknown labels.
 * @param {string | null} charset
 * @param {{ fatal?: boolean, ignoreBOM?: boolean }} [options]
 */
export function createTextDecoder(charset, options) {
  try {
    return new TextDecoder(charset ?? "utf-8", options);
  } catch {
    return new TextDecoder("utf-8", options);
  }
}

/**
 * Decodes bytes by their byte order mark, else by a charset, else as UTF-8. Returns null for bytes that are not text.
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {string | null} charset
 * @param {boolean} isWhole whether the last character is complete
 * @returns {string | null}
 */
export function decodeText(bytes, charset, isWhole) {
  const decoder = createTextDecoder(markedCharset(bytes) ?? charset, { fatal: true });
  if (!decoder.encoding.startsWith("utf-16") && bytes.includes(0)) return null;
  try {
    const text = decoder.decode(bytes, { stream: !isWhole });
    return text.includes("\0") ? null : text;
  } catch {
    // Some senders declare another charset and send UTF-8.
    return decoder.encoding === "utf-8" ? null : decodeText(bytes, "utf-8", isWhole);
  }
}

/** @param {Uint8Array<ArrayBuffer>} bytes */
function markedCharset([first, second, third]) {
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (third === undefined) return null;
  return first === 0xff && second === 0xfe ? "utf-16le" : first === 0xfe && second === 0xff ? "utf-16be" : null;
}
