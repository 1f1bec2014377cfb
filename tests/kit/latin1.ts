/** Latin-1: a character a byte. */
export function toBytes(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}

/** Bytes as characters, one each; `TextDecoder` knows Latin-1 only as windows-1252. */
export function fromBytes(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += PIECE) text += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  return text;
}

/** Arguments that a call takes without harm. */
const PIECE = 8192;
