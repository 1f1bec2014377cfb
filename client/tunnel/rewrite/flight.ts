import { Buffer } from "node:buffer";

/**
 * Finds counted texts in a stream with React server components ("flight"), alone or inside a Next page. A row
 * `4:T4e2,…` announces its byte count. A changed link in it would shift all later rows, so these bytes must stay
 * unchanged.
 */
export interface CountedTexts {
  /**
   * Returns the offsets where bytes change from free to counted, or back; the first bytes are as {@link isCounted}
   * reports.
   */
  scan(bytes: Uint8Array): number[];
  /** Whether the next byte belongs to a counted text. */
  readonly isCounted: boolean;
}

/** Returns a finder for a response with this type; null if the type has no counted texts. */
export function findCountedTexts(contentType: string): CountedTexts | null {
  const type = contentType.split(";", 1)[0].trim().toLowerCase();
  return type === "text/x-component" ? new Flight() : type === "text/html" ? new FlightInPage() : null;
}

const LF = 0x0a, QUOTE = 0x22, COMMA = 0x2c, COLON = 0x3a, BACKSLASH = 0x5c;
/** Tags for counted rows: texts and typed arrays. */
const COUNTED = new Set([..."TAOobUSsLlGgMmV"].map((tag) => tag.charCodeAt(0)));
/** Hexadecimal digits in a length, as many as a number holds exactly. */
const MAX_DIGITS = 12;

/** Reads a stream's rows byte by byte. */
class Rows {
  #state: "id" | "tag" | "length" | "line" = "id";
  #digits = "";
  /** Remaining bytes in the counted text. */
  left = 0;

  take(byte: number): void {
    if (this.left > 0) this.left--;
    else if (this.#state === "length" && byte === COMMA) this.#count();
    else if (this.#state === "length" && this.#digits.length < MAX_DIGITS) this.#digits += String.fromCharCode(byte);
    else this.#state = this.#after(byte);
  }

  #after(byte: number): "id" | "tag" | "length" | "line" {
    this.#digits = "";
    if (byte === LF) return "id";
    if (this.#state === "id") return byte === COLON ? "tag" : "id";
    return this.#state === "tag" && COUNTED.has(byte) ? "length" : "line";
  }

  #count(): void {
    this.left = /^[\da-f]+$/.test(this.#digits) ? parseInt(this.#digits, 16) : 0;
    // No line end follows such a row.
    this.#state = "id";
    this.#digits = "";
  }
}

class Flight implements CountedTexts {
  readonly #rows = new Rows();

  get isCounted(): boolean {
    return this.#rows.left > 0;
  }

  scan(bytes: Uint8Array): number[] {
    const changes: number[] = [];
    for (let at = 0, was = this.isCounted; at < bytes.length; at++) {
      this.#rows.take(bytes[at]);
      if (this.isCounted !== was) changes.push(at + 1);
      was = this.isCounted;
    }
    return changes;
  }
}

/** A page holds the next part of the stream after this prefix, as a JSON string. */
const PUSH = 'self.__next_f.push([1,"';

class FlightInPage implements CountedTexts {
  readonly #rows = new Rows();
  #isInside = false;
  /** Outside a string: the last characters, which may begin a {@link PUSH}. Inside: an incomplete escape. */
  #rest = "";

  get isCounted(): boolean {
    return this.#isInside && this.#rows.left > 0;
  }

  scan(bytes: Uint8Array): number[] {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
    const changes: number[] = [];
    for (let at = 0; at < text.length;) {
      at = this.#isInside ? this.#scanString(text, at, changes) : this.#findPush(text, at, changes);
    }
    return changes;
  }

  /** Returns the offset after the next push, or the end. */
  #findPush(text: string, at: number, changes: number[]): number {
    const known = this.#rest, ahead = known === "" && at === 0 ? text : known + text.slice(at);
    const found = ahead.indexOf(PUSH);
    if (found < 0) {
      this.#rest = ahead.slice(1 - PUSH.length);
      return text.length;
    }
    this.#rest = "";
    this.#isInside = true;
    const end = at + found + PUSH.length - known.length;
    if (this.isCounted) changes.push(end);
    return end;
  }

  /** Returns the offset after the string, or the end. */
  #scanString(text: string, start: number, changes: number[]): number {
    for (let at = start; at < text.length; at++) {
      const code = text.charCodeAt(at), was = this.isCounted;
      if (this.#rest !== "" || code === BACKSLASH) this.#takeEscape(text.charAt(at));
      else if (code === QUOTE) this.#isInside = false;
      else this.#rows.take(code);
      if (this.isCounted !== was) changes.push(at + 1);
      if (!this.#isInside) return at + 1;
    }
    return text.length;
  }

  #takeEscape(char: string): void {
    this.#rest += char;
    const isUnicode = this.#rest.startsWith("\\u");
    if (this.#rest.length < (isUnicode ? "\\u0000".length : 2)) return;
    const code = isUnicode ? parseInt(this.#rest.slice(2), 16) : this.#rest === "\\n" ? LF : 0;
    this.#rest = "";
    // A length counts UTF-8 bytes.
    const size = code < 0x80 ? 1 : code < 0x800 ? 2 : 3;
    for (let index = 0; index < size; index++) this.#rows.take(code);
  }
}
