/** Arguments that one call can take without trouble. */
const PIECE = 4096;

/**
 * Bytes as characters, one each (ISO 8859-1), which is what header fields are (RFC 9110, section 5.5). `TextDecoder`
 * knows Latin-1 only as windows-1252, which moves 0x80 to 0x9f.
 */
export function decodeLatin1(bytes: Uint8Array, start: number, end: number): string {
  if (end - start <= PIECE) return decodePiece(bytes, start, end);
  let text = "";
  for (let at = start; at < end; at += PIECE) text += decodePiece(bytes, at, Math.min(end, at + PIECE));
  return text;
}

/** Spreading the bytes would take eight times as long. */
function decodePiece(bytes: Uint8Array, start: number, end: number): string {
  return Reflect.apply(String.fromCharCode, null, bytes.subarray(start, end));
}

/** Characters up to U+00FF as bytes, one each. */
export function encodeLatin1(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) bytes[index] = text.charCodeAt(index);
  return bytes;
}
