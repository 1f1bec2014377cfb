/**
 * Decodes a text file from an editor or shell. On Windows, files can start with a byte order mark, and PowerShell
 * writes UTF-16. Without a mark the text is UTF-8.
 */
export function decodeText(bytes: Uint8Array): string {
  const encoding = bytes[0] === 0xff && bytes[1] === 0xfe
    ? "utf-16le"
    : bytes[0] === 0xfe && bytes[1] === 0xff
    ? "utf-16be"
    : "utf-8";
  // TextDecoder removes the mark.
  return new TextDecoder(encoding).decode(bytes);
}
