import {
  CR,
  decodeLatin1,
  FieldSyntaxError,
  isWord,
  LF,
  listHasWord,
  parseContentLength,
  quote,
  scanFieldName,
  scanValue,
  skipSpace,
  TARGET_BYTES,
  TOKEN_BYTES,
  trimSpace,
} from "./field_lines.ts";

/**
 * A request's head that two readers could read differently, or that is none; also one that was about to be written.
 * The message is fit for strangers.
 */
export class RequestSyntaxError extends SyntaxError {
  override name = "RequestSyntaxError";
  /** 400, 431 for too many fields, 505 for another version of HTTP. */
  readonly status: 400 | 431 | 505;

  constructor(message: string, status: 400 | 431 | 505 = 400, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** What `Expect` asks for (RFC 9110, section 10.1.1). */
export type Expectation = "none" | "continue" | "unknown";

/** How the body of a request ends (RFC 9112, section 6.3). */
export type RequestFraming = "none" | "length" | "chunked";

/** Numbers kept of each field line, counted from the head's start: its name's first byte, its colon, its CR. */
const PER_FIELD = 3;
/** What browsers send has 10 to 25 fields. */
const FIRST_FIELDS = 32;
/** Offsets are kept in 16 bits. */
export const MAX_REQUEST_HEAD = 0xffff;

const CONNECT = "CONNECT";
const SPACE = 0x20;
const SLASH = 0x2f;
const STAR = 0x2a;

/**
 * A request's head, checked (RFC 9112): one request line, field lines without folding, one Host, one length. Bytes stay
 * where they were read, and what is text is decoded at the first look. One object serves one connection, head after
 * head.
 */
export class RequestHead {
  /** The memory the head lies in, as `bytes[start, end)` with the blank line. */
  bytes: Uint8Array = NOTHING;
  start = 0;
  end = 0;
  /** `bytes[start, methodEnd)`. */
  methodEnd = 0;
  /** Path and query: `bytes[targetStart, targetEnd)`. Of an absolute-form target what follows its authority, maybe nothing. */
  targetStart = 0;
  targetEnd = 0;
  /** Offset of the first field line. */
  fieldsStart = 0;
  fieldCount = 0;
  /** HTTP/1.0 or HTTP/1.1. */
  minorVersion: 0 | 1 = 1;
  framing: RequestFraming = "none";
  /** Bytes of the body where {@link framing} is `length`, else 0. */
  length = 0;
  expectation: Expectation = "none";
  /** `Connection` lists it; likewise the next. */
  close = false;
  keepAlive = false;
  /** `Connection` lists `upgrade`, and there is an `Upgrade` to something other than h2c, which is obsolete (RFC 9113). */
  upgrade = false;
  /** `Connection` may list names of fields. */
  namesFields = false;
  /** Over {@link bytes}. */
  #view: DataView = NO_VIEW;
  #fields = new Uint16Array(FIRST_FIELDS * PER_FIELD);
  #hostField = -1;
  #upgradeField = -1;
  #hasLength = false;
  #connectionUpgrade = false;
  #authorityStart = -1;
  #authorityEnd = -1;
  #method: string | null = null;
  #host = "";
  #target: string | null = null;

  /**
   * Reads a head from `bytes[start, end)`, at most {@link MAX_REQUEST_HEAD} bytes of it.
   * @param maxFields field lines that are taken
   * @returns whether it is whole; until it is, nothing else here can be relied on
   * @throws RequestSyntaxError for anything malformed or ambiguous
   */
  parse(bytes: Uint8Array, start: number, end: number, maxFields: number): boolean {
    this.#reset(bytes, start);
    try {
      const line = this.#readRequestLine(Math.min(end, start + MAX_REQUEST_HEAD));
      return line && this.#readFields(Math.min(end, start + MAX_REQUEST_HEAD), maxFields);
    } catch (error) {
      if (!(error instanceof FieldSyntaxError)) throw error;
      throw new RequestSyntaxError(`The request's head is malformed: ${error.message}.`, 400, { cause: error });
    }
  }

  get method(): string {
    return this.#method ??= decodeMethod(this.bytes, this.start, this.methodEnd);
  }

  /** As it was sent, one character a byte; `/` where an absolute-form target has no path. */
  get path(): string {
    return this.#target ??= originForm(decodeLatin1(this.bytes, this.targetStart, this.targetEnd));
  }

  /** The host of the request: of an absolute-form target its own, else the Host field's; "" in HTTP/1.0 without one. */
  get host(): string {
    return this.#host;
  }

  /** Of the field line with that number: the offset of its name. */
  nameStart(field: number): number {
    return this.start + this.#fields[field * PER_FIELD];
  }

  /** Of the field line with that number: the offset of its colon, which ends its name. */
  nameEnd(field: number): number {
    return this.start + this.#fields[field * PER_FIELD + 1];
  }

  /** Of the field line with that number: the offset of its CR, which ends its value. */
  valueEnd(field: number): number {
    return this.start + this.#fields[field * PER_FIELD + 2];
  }

  /** Whether the field line has that name, in lower case. */
  isNamed(field: number, name: string): boolean {
    return isWord(this.bytes, this.nameStart(field), this.nameEnd(field), name);
  }

  /** The name of a field line as it was sent. */
  name(field: number): string {
    return decodeLatin1(this.bytes, this.nameStart(field), this.nameEnd(field));
  }

  /** The value of a field line, without white space around it, one character a byte. */
  value(field: number): string {
    const end = this.valueEnd(field), from = skipSpace(this.bytes, this.nameEnd(field) + 1, end);
    return decodeLatin1(this.bytes, from, trimSpace(this.bytes, from, end));
  }

  /** All fields of that name, in lower case, joined by ", "; null when there is none. */
  values(name: string): string | null {
    let joined: string | null = null;
    for (let field = 0; field < this.fieldCount; field++) {
      if (!this.isNamed(field, name)) continue;
      joined = joined === null ? this.value(field) : `${joined}, ${this.value(field)}`;
    }
    return joined;
  }

  /** The number of the last field line of that name, in lower case, or -1. */
  find(name: string): number {
    for (let field = this.fieldCount - 1; field >= 0; field--) if (this.isNamed(field, name)) return field;
    return -1;
  }

  /** Whether there is a Content-Length, which may be 0. */
  get hasLength(): boolean {
    return this.#hasLength;
  }

  /** The number of the `Upgrade` line, or -1. */
  get upgradeField(): number {
    return this.#upgradeField;
  }

  #reset(bytes: Uint8Array, start: number): void {
    if (this.bytes !== bytes) {
      this.bytes = bytes;
      this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    }
    this.start = start;
    this.fieldCount = 0;
    this.framing = "none";
    this.length = 0;
    this.expectation = "none";
    this.close =
      this.keepAlive =
      this.upgrade =
      this.namesFields =
        false;
    this.#hasLength = this.#connectionUpgrade = false;
    this.#hostField =
      this.#upgradeField =
      this.#authorityStart =
      this.#authorityEnd =
        -1;
    this.#method = this.#target = null;
  }

  /** Returns whether the line is whole. */
  #readRequestLine(end: number): boolean {
    const { bytes, start } = this;
    let at = start;
    while (at < end && TOKEN_BYTES[bytes[at]] === 1) at++;
    if (at < end && (bytes[at] !== SPACE || at === start)) throw noRequest(bytes, start, end);
    this.methodEnd = at;
    this.targetStart = ++at;
    while (at < end && TARGET_BYTES[bytes[at]] === 1) at++;
    if (at < end && (bytes[at] !== SPACE || at === this.targetStart)) throw noRequest(bytes, start, end);
    this.targetEnd = at;
    const known = Math.min(end - at, VERSION.length);
    for (let index = 0; index < known; index++) {
      if (bytes[at + index] === VERSION[index]) continue;
      // The last digit may be another.
      if (index === MINOR && bytes[at + index] === 0x30) continue;
      throw index > 5 && index <= MINOR ? otherVersion() : noRequest(bytes, start, end);
    }
    if (known < VERSION.length) return false;
    this.minorVersion = bytes[at + MINOR] === 0x31 ? 1 : 0;
    this.fieldsStart = at + VERSION.length;
    this.#readTarget();
    return true;
  }

  /** Reads the target in the forms of RFC 9112, section 3.2, other than that of CONNECT. */
  #readTarget(): void {
    const { bytes, targetStart, targetEnd } = this;
    // RFC 9112, section 3.2.3: CONNECT names a host and a port, and only a forward proxy can serve it.
    if (this.methodEnd - this.start === CONNECT.length && this.method === CONNECT) {
      throw new RequestSyntaxError("CONNECT is for forward proxies, and this server is none.");
    }
    if (bytes[targetStart] === SLASH) return;
    if (bytes[targetStart] === STAR && targetEnd === targetStart + 1 && this.method === "OPTIONS") return;
    const scheme = isWord(bytes, targetStart, targetStart + 7, "http://")
      ? 7
      : isWord(bytes, targetStart, targetStart + 8, "https://")
      ? 8
      : 0;
    if (scheme === 0) throw new RequestSyntaxError("The request target must be a path.");
    let at = targetStart + scheme;
    this.#authorityStart = at;
    while (at < targetEnd && bytes[at] !== SLASH && bytes[at] !== 0x3f && bytes[at] !== 0x23) at++;
    this.#authorityEnd = at;
    this.targetStart = at;
  }

  #readFields(end: number, maxFields: number): boolean {
    const { bytes } = this;
    let at = this.fieldsStart;
    while (at < end && bytes[at] !== CR) {
      const colon = scanFieldName(bytes, at, end);
      const valueEnd = colon < 0 ? -1 : scanValue(bytes, colon + 1, end, this.#view);
      if (valueEnd < 0) return false;
      if (this.fieldCount === maxFields) throw new RequestSyntaxError("The request has too many header fields.", 431);
      this.#addField(at, colon, valueEnd);
      at = valueEnd + 2;
    }
    if (at + 1 >= end) return false;
    if (bytes[at + 1] !== LF) throw new FieldSyntaxError("a bare CR inside a line");
    this.end = at + 2;
    this.#conclude();
    return true;
  }

  #addField(nameStart: number, colon: number, end: number): void {
    const at = this.fieldCount * PER_FIELD;
    if (at + PER_FIELD > this.#fields.length) {
      const larger = new Uint16Array(this.#fields.length * 2);
      larger.set(this.#fields);
      this.#fields = larger;
    }
    this.#fields[at] = nameStart - this.start;
    this.#fields[at + 1] = colon - this.start;
    this.#fields[at + 2] = end - this.start;
    const field = this.fieldCount++;
    const { bytes } = this;
    // Most names differ in length from these, which spares the comparison.
    switch (colon - nameStart) {
      case 4:
        if (isWord(bytes, nameStart, colon, "host")) this.#takeHost(field);
        break;
      case 6:
        if (isWord(bytes, nameStart, colon, "expect")) this.#takeExpect(colon + 1, end);
        break;
      case 7:
        if (isWord(bytes, nameStart, colon, "upgrade")) this.#takeUpgrade(field, colon + 1, end);
        break;
      case 10:
        if (isWord(bytes, nameStart, colon, "connection")) this.#takeConnection(colon + 1, end);
        break;
      case 14:
        if (isWord(bytes, nameStart, colon, "content-length")) this.#takeLength(colon + 1, end);
        break;
      case 17:
        if (isWord(bytes, nameStart, colon, "transfer-encoding")) this.#takeCoding(colon + 1, end);
    }
  }

  #takeHost(field: number): void {
    if (this.#hostField >= 0) throw new RequestSyntaxError("One Host header is wanted.");
    this.#hostField = field;
  }

  #takeExpect(start: number, end: number): void {
    const from = skipSpace(this.bytes, start, end);
    const isContinue = isWord(this.bytes, from, trimSpace(this.bytes, from, end), "100-continue");
    this.expectation = isContinue && this.expectation !== "unknown" ? "continue" : "unknown";
  }

  #takeUpgrade(field: number, start: number, end: number): void {
    // Two lines would be a list of two; nobody sends that, and a service may read the other one.
    if (this.#upgradeField >= 0) throw new RequestSyntaxError("One Upgrade header is wanted.");
    this.#upgradeField = field;
    this.upgrade = !listHasWord(this.bytes, start, end, "h2c") && skipSpace(this.bytes, start, end) < end;
  }

  #takeConnection(start: number, end: number): void {
    const { bytes } = this;
    const from = skipSpace(bytes, start, end), to = trimSpace(bytes, from, end);
    if (isWord(bytes, from, to, "keep-alive")) this.keepAlive = true;
    else if (isWord(bytes, from, to, "close")) this.close = true;
    else {
      if (listHasWord(bytes, from, to, "close")) this.close = true;
      if (listHasWord(bytes, from, to, "keep-alive")) this.keepAlive = true;
      if (listHasWord(bytes, from, to, "upgrade")) this.#connectionUpgrade = true;
      if (!isWord(bytes, from, to, "upgrade")) this.namesFields = true;
    }
  }

  #takeLength(start: number, end: number): void {
    const from = skipSpace(this.bytes, start, end), to = trimSpace(this.bytes, from, end);
    // Equal ones are refused as well, and lists: a service behind us may read them otherwise.
    if (this.#hasLength) throw new RequestSyntaxError("One Content-Length is wanted.");
    if (!isDigits(this.bytes, from, to)) throw new RequestSyntaxError("Content-Length is malformed.");
    this.#hasLength = true;
    this.length = parseContentLength(this.bytes, from, to);
  }

  #takeCoding(start: number, end: number): void {
    const from = skipSpace(this.bytes, start, end), to = trimSpace(this.bytes, from, end);
    if (this.framing === "chunked" || !isWord(this.bytes, from, to, "chunked")) {
      throw new RequestSyntaxError("Only the transfer coding chunked is known, once.");
    }
    this.framing = "chunked";
  }

  /** What can be said only of a whole head. */
  #conclude(): void {
    if (this.framing === "chunked") {
      if (this.#hasLength) throw new RequestSyntaxError("Content-Length and Transfer-Encoding exclude each other.");
      if (this.minorVersion === 0) throw new RequestSyntaxError("HTTP/1.0 has no transfer codings.");
    } else if (this.length > 0) this.framing = "length";
    this.upgrade = this.upgrade && this.#connectionUpgrade && this.minorVersion === 1;
    this.#concludeHost();
  }

  #concludeHost(): void {
    const { bytes } = this;
    if (this.#hostField < 0 && this.minorVersion === 1) throw new RequestSyntaxError("One Host header is wanted.");
    let start = this.#authorityStart, end = this.#authorityEnd;
    if (this.#hostField >= 0) {
      const valueEnd = this.valueEnd(this.#hostField);
      const from = skipSpace(bytes, this.nameEnd(this.#hostField) + 1, valueEnd);
      const to = trimSpace(bytes, from, valueEnd);
      if (start >= 0 && !HOST.test(decodeLatin1(bytes, from, to))) throw malformedHost();
      if (start < 0) [start, end] = [from, to];
    }
    if (start < 0) {
      this.#host = "";
      return;
    }
    // Requests in a row on one connection name the same host.
    if (isText(bytes, start, end, this.#host) && end > start) return;
    const host = decodeLatin1(bytes, start, end);
    if (!HOST.test(host)) throw malformedHost();
    this.#host = host;
  }
}

const NOTHING = new Uint8Array(0);
const NO_VIEW = new DataView(NOTHING.buffer);
const VERSION = [..." HTTP/1.1\r\n"].map((char) => char.charCodeAt(0));
/** Where in that the minor version stands. */
const MINOR = 8;
/** `host[:port]` (RFC 3986, sections 3.2.2 and 3.2.3), without user information. */
const HOST = /^(\[[0-9A-Fa-f:.]+\]|[\w.~!$&'()*+,;=%-]+)(:\d{1,5})?$/;

const malformedHost = () => new RequestSyntaxError("The Host header is malformed.");
const otherVersion = () => new RequestSyntaxError("HTTP/1.1 is wanted.", 505);

function noRequest(bytes: Uint8Array, start: number, end: number): RequestSyntaxError {
  const lf = bytes.subarray(start, end).indexOf(LF);
  return new RequestSyntaxError(`This is no HTTP/1.1 request: ${quote(bytes, start, lf < 0 ? end : start + lf)}.`);
}

function isDigits(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] < 0x30 || bytes[at] > 0x39) return false;
  return end > start && end - start <= 15;
}

/** Whether the bytes are that text, a character each. */
function isText(bytes: Uint8Array, start: number, end: number, text: string): boolean {
  if (end - start !== text.length) return false;
  for (let index = 0; index < text.length; index++) if (bytes[start + index] !== text.charCodeAt(index)) return false;
  return true;
}

function originForm(path: string): string {
  if (path.startsWith("/") || path === "*") return path;
  return `/${path}`;
}

const METHODS = ["GET", "POST", "PUT", "HEAD", "PATCH", "DELETE", "OPTIONS"];

/** The usual methods are told by their bytes, which spares a string each. */
function decodeMethod(bytes: Uint8Array, start: number, end: number): string {
  for (const method of METHODS) if (isText(bytes, start, end, method)) return method;
  return decodeLatin1(bytes, start, end);
}

/**
 * Looks for the end of a head that comes in many pieces, so that each byte is looked at once.
 * @param from where the last search ended, or the head's start
 * @returns the offset behind the blank line, or -1
 * @throws RequestSyntaxError for a line that ends without CR
 */
export function findHeadEnd(bytes: Uint8Array, start: number, from: number, end: number): number {
  for (let at = from; at < end; at++) {
    if (bytes[at] !== LF) continue;
    if (at === start || bytes[at - 1] !== CR) throw new RequestSyntaxError("A line of the head ends without CR.");
    if (at - start >= 3 && bytes[at - 2] === LF) return at + 1;
  }
  return -1;
}
