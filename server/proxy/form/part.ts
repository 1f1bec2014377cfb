import { Buffer } from "node:buffer";

/** A form part, or its beginning. */
export interface FormPart {
  /** Header lines in Latin-1. */
  head: string;
  /** The name in UTF-8; null without one. */
  name: string | null;
  /** Whether the part is a file. */
  hasFilename: boolean;
  content: Buffer;
}

const LINE_END = Buffer.from("\r\n");
const HEAD_END = Buffer.from("\r\n\r\n");
const DISPOSITION = /^content-disposition:[ \t]*form-data\b(.*)$/im;

/** Parses the beginning of a part (RFC 7578, section 4). Returns null while its head is incomplete. */
export function parsePart(bytes: Buffer): FormPart | null {
  // A part without headers starts with the empty line.
  const headEnd = bytes.subarray(0, 2).equals(LINE_END) ? 0 : bytes.indexOf(HEAD_END);
  if (headEnd === -1) return null;
  const head = bytes.subarray(0, headEnd).toString("latin1");
  const content = bytes.subarray(headEnd === 0 ? LINE_END.length : headEnd + HEAD_END.length);
  const parameters = DISPOSITION.exec(head)?.[1] ?? "";
  return { head, name: readName(parameters), hasFilename: /;[ \t]*filename\*?[ \t]*=/i.test(parameters), content };
}

function readName(parameters: string): string | null {
  for (const [, key, quoted, bare] of parameters.matchAll(/;[ \t]*([^\s=;"]+)=(?:"([^"]*)"|([^\s;"]*))/g)) {
    if (key.toLowerCase() === "name") return Buffer.from(quoted ?? bare, "latin1").toString("utf8");
  }
  return null;
}
