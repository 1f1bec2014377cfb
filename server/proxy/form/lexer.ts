import { Buffer } from "node:buffer";

/**
 * A token in a multipart body: a whole delimiter with the line ends around it, or some bytes between two delimiters.
 */
export interface FormToken {
  kind: "data" | "delimiter" | "last_delimiter";
  bytes: Buffer;
}

/** Most white space after a boundary. A line with more is no delimiter. */
const MAX_PADDING = 64;
const LINE_END = Buffer.from("\r\n");

/**
 * Splits a multipart body (RFC 2046, section 5.1) on arrival. All tokens together are the body with a leading line
 * end, which makes the first delimiter like all others. The lexer holds back at most a delimiter's length.
 */
export class FormLexer {
  readonly #source: AsyncGenerator<Uint8Array>;
  readonly #needle: Buffer;
  #held: Buffer = LINE_END;
  #hasEnded = false;

  constructor(source: AsyncGenerator<Uint8Array>, boundary: string) {
    this.#source = source;
    this.#needle = Buffer.from(`\r\n--${boundary}`, "latin1");
  }

  /** Returns the next token, or null at the end. @throws errors from the source */
  async next(): Promise<FormToken | null> {
    while (true) {
      const token = this.#cut();
      if (token !== null || this.#hasEnded) return token;
      const { done, value } = await this.#source.next();
      if (done) this.#hasEnded = true;
      else if (this.#held.length > 0) this.#held = Buffer.concat([this.#held, value]);
      else this.#held = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    }
  }

  /** Yields the remaining bytes unchanged. An early end releases the source. */
  async *rest(): AsyncGenerator<Uint8Array> {
    try {
      if (this.#held.length > 0) yield this.#take("data", this.#held.length).bytes;
      yield* this.#source;
    } finally {
      await this.#source.return(undefined);
    }
  }

  /** Returns the token at the buffer's start, or null when that depends on later bytes. */
  #cut(): FormToken | null {
    const held = this.#held;
    for (let from = 0;;) {
      const start = held.indexOf(this.#needle, from);
      if (start === -1) break;
      const line = this.#readLine(start + this.#needle.length);
      if (line === "open" && !this.#hasEnded) return start > 0 ? this.#take("data", start) : null;
      if (typeof line !== "string") return start > 0 ? this.#take("data", start) : this.#take(line.kind, line.end);
      from = start + 1;
    }
    const length = this.#hasEnded ? held.length : held.length - this.#countBegun();
    return length > 0 ? this.#take("data", length) : null;
  }

  /** Reads the bytes after a boundary: a delimiter's end, no delimiter, or too few bytes. */
  #readLine(from: number): { kind: "delimiter" | "last_delimiter"; end: number } | "open" | "none" {
    const held = this.#held;
    if (held[from] === DASH) {
      if (from + 1 === held.length) return "open";
      return held[from + 1] === DASH ? { kind: "last_delimiter", end: from + 2 } : "none";
    }
    let at = from;
    while ((held[at] === SPACE || held[at] === TAB) && at - from < MAX_PADDING) at++;
    if (at === held.length || (held[at] === CR && at + 1 === held.length)) return "open";
    return held[at] === CR && held[at + 1] === LF ? { kind: "delimiter", end: at + 2 } : "none";
  }

  /** Counts the last bytes that may begin a delimiter. Only a delimiter's first byte is a CR. */
  #countBegun(): number {
    const tail = this.#held.subarray(1 - this.#needle.length);
    const at = tail.lastIndexOf(CR);
    if (at === -1) return 0;
    const begun = tail.subarray(at);
    return this.#needle.subarray(0, begun.length).equals(begun) ? begun.length : 0;
  }

  #take(kind: FormToken["kind"], length: number): FormToken {
    const bytes = this.#held.subarray(0, length);
    this.#held = this.#held.subarray(length);
    return { kind, bytes };
  }
}

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const DASH = 0x2d;

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
