/**
 * The text of a file that somebody has written in an editor or by a shell. On Windows those begin it with a mark of its
 * encoding, and what PowerShell writes is UTF-16; without a mark it is UTF-8.
 */
export function decodeText(bytes: Uint8Array): string {
  const encoding = bytes[0] === 0xff && bytes[1] === 0xfe
    ? "utf-16le"
    : bytes[0] === 0xfe && bytes[1] === 0xff
    ? "utf-16be"
    : "utf-8";
  // It takes the mark off.
  return new TextDecoder(encoding).decode(bytes);
}
