import { CR, decodeLatin1, dropForbiddenTrailers, LF, TOKEN_BYTES, VALUE_BYTES } from "../http1/mod.ts";
import { ConnectionError, ErrorCode, Flag, readU31, StreamError, unpad } from "./frames.ts";
import { HpackDecoder, HpackError, type OnField } from "./hpack/mod.ts";

/** Largest field block in bytes, over all frames. */
const MAX_BLOCK = 64 * 1024;
/** Priority size in HEADERS, in bytes. The priority precedes the block. */
const PRIORITY_SIZE = 5;

/** A complete field block. */
export interface Block {
  stream: number;
  endStream: boolean;
  bytes: Uint8Array;
}

/**
 * Collects field blocks from HEADERS and CONTINUATION frames (RFC 9113, section 4.3) and decodes them in their order,
 * because each may change the meaning of later ones.
 */
export class BlockReader {
  readonly #decoder = new HpackDecoder();
  /** The incomplete block. */
  #stream = 0;
  #endStream = false;
  #chunks: Uint8Array[] = [];
  #size = 0;

  /**
   * Begins a block with a HEADERS frame whose payload is `bytes[start, end)`.
   * @returns the block, valid as long as `bytes`, or null when more frames belong to it
   */
  begin(stream: number, flags: number, bytes: Uint8Array, start: number, end: number): Block | null {
    let block = unpad(flags, bytes, start, end);
    if ((flags & Flag.priority) !== 0) {
      if (block.length < PRIORITY_SIZE) throw new ConnectionError(ErrorCode.frameSize, "HEADERS are cut short");
      // A stream error would leave the block undecoded, so the session ends.
      if (readU31(block, 0) === stream) throw new ConnectionError(ErrorCode.protocol, "a stream depends on itself");
      block = block.subarray(PRIORITY_SIZE);
    }
    const endStream = (flags & Flag.endStream) !== 0;
    if ((flags & Flag.endHeaders) !== 0) return { stream, endStream, bytes: block };
    this.#stream = stream;
    this.#endStream = endStream;
    this.#chunks = [Uint8Array.from(block)];
    this.#size = block.length;
    return null;
  }

  /** Continues the block with a CONTINUATION frame. Returns the block when it is complete. */
  continue(flags: number, bytes: Uint8Array, start: number, end: number): Block | null {
    this.#size += end - start;
    if (this.#size > MAX_BLOCK) throw new ConnectionError(ErrorCode.enhanceYourCalm, "a field block is too large");
    this.#chunks.push(bytes.slice(start, end));
    if ((flags & Flag.endHeaders) === 0) return null;
    const whole = new Uint8Array(this.#size);
    let at = 0;
    for (const chunk of this.#chunks) {
      whole.set(chunk, at);
      at += chunk.length;
    }
    this.#chunks = [];
    return { stream: this.#stream, endStream: this.#endStream, bytes: whole };
  }

  /** Decodes a block. Every block must be decoded, even for a refused stream. @throws ConnectionError */
  read({ bytes }: Block, onField: OnField): void {
    try {
      this.#decoder.decode(bytes, 0, bytes.length, onField);
    } catch (error) {
      if (!(error instanceof HpackError)) throw error;
      throw new ConnectionError(ErrorCode.compression, error.message);
    }
  }
}

/** The pseudo-header fields of a request (RFC 9113, section 8.3.1). */
type Pseudo = ":method" | ":scheme" | ":authority" | ":path";
const PSEUDO: ReadonlySet<string> = new Set(["method", "scheme", "authority", "path"].map((name) => `:${name}`));
/** Connection fields, which HTTP/2 forbids (RFC 9113, section 8.2.2). */
const OF_THE_CONNECTION: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);
const COLON = 0x3a, SPACE = 0x20, TAB = 0x09;
/** Largest head in bytes: field offsets have 16 bits. */
const MAX_HEAD = 0xffff;
/** Size of a field in a field list, apart from its bytes (RFC 9113, section 6.5.2). */
const PER_FIELD = 32;

/**
 * Converts request fields into an HTTP/1.1 head, so that all code after it knows one form only. One object serves all
 * connections, one block at a time.
 */
export class RequestFields {
  method = "";
  /** `:authority`, otherwise the Host value, otherwise "". */
  host = "";
  path = "";
  /** Whether the fields exceed the limit, so that the rest was ignored. */
  isTooLarge = false;
  readonly #out = new Uint8Array(MAX_HEAD + 1);
  #used = 0;
  #size = 0;
  #maxSize = 0;
  #isTrailers = false;
  #pseudo = new Map<string, string>();
  #hasFields = false;
  #hostField: string | null = null;
  #cookies = "";
  /** The reason why the block is malformed. Decoding continues, because later blocks depend on it. */
  #rejection: string | null = null;

  /** Begins a block. @param maxSize largest size of the fields in HTTP/1.1 form, in bytes */
  begin(isTrailers: boolean, maxSize: number): void {
    this.#used = this.#size = 0;
    this.#maxSize = Math.min(maxSize, MAX_HEAD);
    this.#isTrailers = isTrailers;
    this.#pseudo.clear();
    this.#hasFields = this.isTooLarge = false;
    this.#hostField = this.#rejection = null;
    this.#cookies = "";
  }

  readonly add = (name: Uint8Array, value: Uint8Array): void => {
    if (this.#rejection !== null || this.isTooLarge) return;
    this.#size += name.length + value.length + 4;
    if (this.#size > this.#maxSize) this.isTooLarge = true;
    else if (name[0] === COLON) this.#addPseudo(toText(name), value);
    else this.#addField(name, value);
  };

  /**
   * Returns the request's head with its blank line, or its beginning if it {@link isTooLarge}.
   * @throws StreamError when the block describes no request
   */
  takeHead(): Uint8Array<ArrayBuffer> {
    this.#check();
    const method = this.#need(":method", "GET"), authority = this.#pseudo.get(":authority");
    const path = method === "CONNECT" ? this.#readConnectTarget() : this.#need(":path", "/");
    if (method !== "CONNECT") this.#need(":scheme", "https");
    this.method = method;
    this.path = path;
    this.host = authority ?? this.#hostField ?? "";
    // A head needs a host. Users of the request see the empty one.
    const start = `${method} ${path} HTTP/1.1\r\nhost: ${this.host || "localhost"}\r\n`;
    const end = this.#cookies === "" ? "\r\n" : `cookie: ${this.#cookies}\r\n\r\n`;
    const head = new Uint8Array(start.length + this.#used + end.length);
    putText(head, 0, start);
    head.set(this.#out.subarray(0, this.#used), start.length);
    putText(head, start.length + this.#used, end);
    return head;
  }

  /** Whether the Host field and `:authority` differ. */
  get hasTwoHosts(): boolean {
    return this.#hostField !== null && this.#hostField !== this.host;
  }

  /** Returns the field lines of a trailer section without forbidden fields. @throws StreamError when it is malformed */
  takeTrailers(): Uint8Array<ArrayBuffer> {
    this.#check();
    return dropForbiddenTrailers(this.#out.slice(0, this.#used));
  }

  #check(): void {
    if (this.#rejection !== null) throw new StreamError(ErrorCode.protocol, this.#rejection);
  }

  /**
   * Returns the authority of a CONNECT request, which has neither a scheme nor a path (RFC 9113, section 8.5).
   * @throws StreamError when the request is malformed
   */
  #readConnectTarget(): string {
    if (this.#pseudo.has(":scheme") || this.#pseudo.has(":path")) {
      throw new StreamError(ErrorCode.protocol, "CONNECT with a scheme or a path");
    }
    return this.#need(":authority", "localhost:0");
  }

  /** @param passedOver the value for an ignored field */
  #need(name: Pseudo, passedOver: string): string {
    const value = this.#pseudo.get(name) ?? (this.isTooLarge ? passedOver : "");
    if (value === "") throw new StreamError(ErrorCode.protocol, `no ${name}`);
    return value;
  }

  #addPseudo(name: string, value: Uint8Array): void {
    if (this.#isTrailers || this.#hasFields) this.#rejection = `${name} after other fields`;
    else if (!PSEUDO.has(name) || this.#pseudo.has(name)) this.#rejection = `${name} is unknown or repeated`;
    else if (!isValue(value)) this.#rejection = `an invalid value for ${name}`;
    else this.#pseudo.set(name, toText(value));
  }

  #addField(name: Uint8Array, value: Uint8Array): void {
    this.#hasFields = true;
    if (!isName(name) || !isValue(value)) return void (this.#rejection = "an invalid field");
    const text = SPECIAL_SIZES.has(name.length) ? toText(name) : "";
    if (OF_THE_CONNECTION.has(text) || (text === "te" && toText(value).toLowerCase() !== "trailers")) {
      this.#rejection = `a field ${text}`;
    } else if (text === "host" && !this.#isTrailers) {
      if (this.#hostField !== null && this.#hostField !== toText(value)) this.#rejection = "two hosts";
      this.#hostField = toText(value);
    } else if (text === "cookie") {
      // RFC 9113, section 8.2.3.
      this.#cookies = this.#cookies === "" ? toText(value) : `${this.#cookies}; ${toText(value)}`;
    } else this.#putLine(name, value);
  }

  #putLine(name: Uint8Array, value: Uint8Array): void {
    const out = this.#out;
    let at = this.#used;
    out.set(name, at);
    at += name.length;
    out[at++] = COLON;
    out[at++] = SPACE;
    out.set(value, at);
    at += value.length;
    out[at++] = CR;
    out[at++] = LF;
    this.#used = at;
  }
}

/** Lengths of the names that need a check: connection, host, te, cookie, upgrade and others. */
const SPECIAL_SIZES: ReadonlySet<number> = new Set([...OF_THE_CONNECTION, "host", "te", "cookie"].map((n) => n.length));

/** Returns MAX_HEADER_LIST_SIZE for limits in HTTP/1.1 form. */
export const listSizeOf = (maxHeadBytes: number, maxFields: number): number => maxHeadBytes + maxFields * PER_FIELD;

/** Returns whether a name is a token without capitals (RFC 9113, section 8.2.1). */
function isName(name: Uint8Array): boolean {
  for (let at = 0; at < name.length; at++) {
    const byte = name[at];
    if (TOKEN_BYTES[byte] === 0 || (byte >= 0x41 && byte <= 0x5a)) return false;
  }
  return name.length > 0;
}

/** Returns whether a value has no control bytes and no surrounding white space. */
function isValue(value: Uint8Array): boolean {
  for (let at = 0; at < value.length; at++) if (VALUE_BYTES[value[at]] === 0) return false;
  return !isSpace(value[0]) && !isSpace(value[value.length - 1]);
}

const isSpace = (byte: number | undefined) => byte === SPACE || byte === TAB;

/** Converts each byte to a character. */
function toText(bytes: Uint8Array): string {
  return decodeLatin1(bytes, 0, bytes.length);
}

function putText(to: Uint8Array, at: number, text: string): void {
  for (let index = 0; index < text.length; index++) to[at + index] = text.charCodeAt(index);
}
