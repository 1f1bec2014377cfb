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

/** An invalid or ambiguous request head, received or about to be sent. The message may be shown to clients. */
export class RequestSyntaxError extends SyntaxError {
  override name = "RequestSyntaxError";
  /** 400, 431 for too many fields, 505 for another HTTP version. */
  readonly status: 400 | 431 | 505;

  constructor(message: string, status: 400 | 431 | 505 = 400, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** The expectation in `Expect` (RFC 9110, section 10.1.1). */
export type Expectation = "none" | "continue" | "unknown";

/** Framing for a request body (RFC 9112, section 6.3). */
export type RequestFraming = "none" | "length" | "chunked";

/** Numbers per field line, relative to the head's start: the name's first byte, the colon, the CR. */
const PER_FIELD = 3;
/** Browsers send 10 to 25 fields. */
const FIRST_FIELDS = 32;
/** Offsets have 16 bits. */
export const MAX_REQUEST_HEAD = 0xffff;

const CONNECT = "CONNECT";
const SPACE = 0x20;
const SLASH = 0x2f;
const STAR = 0x2a;

/**
 * A checked request head (RFC 9112): one request line, field lines without folding, one Host, one length. Bytes stay in
 * the read buffer, and text is decoded on first use. One object serves all heads on a connection.
 */
export class RequestHead {
  /** The buffer with the head, which is `bytes[start, end)` including the blank line. */
  bytes: Uint8Array = NOTHING;
  start = 0;
  end = 0;
  /** `bytes[start, methodEnd)`. */
  methodEnd = 0;
  /**
   * Path and query: `bytes[targetStart, targetEnd)`. For an absolute-form target the part after its authority, possibly
   * empty.
   */
  targetStart = 0;
  targetEnd = 0;
  /** Offset of the first field line. */
  fieldsStart = 0;
  fieldCount = 0;
  /** HTTP/1.0 or HTTP/1.1. */
  minorVersion: 0 | 1 = 1;
  framing: RequestFraming = "none";
  /** Body length in bytes if {@link framing} is `length`, else 0. */
  length = 0;
  expectation: Expectation = "none";
  /** `Connection` contains it; likewise the next one. */
  close = false;
  keepAlive = false;
  /** `Connection` contains `upgrade`, and `Upgrade` names a protocol except h2c, which is obsolete (RFC 9113). */
  upgrade = false;
  /** `Connection` can contain field names. */
  namesFields = false;
  /** A view over {@link bytes}. */
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
   * Parses a head from `bytes[start, end)`, at most {@link MAX_REQUEST_HEAD} bytes.
   * @param maxFields limit for field lines
   * @returns whether the head is complete; other members are valid only then
   * @throws RequestSyntaxError for malformed or ambiguous input
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

  /** As sent, one character per byte; `/` for an absolute-form target without a path. */
  get path(): string {
    return this.#target ??= originForm(decodeLatin1(this.bytes, this.targetStart, this.targetEnd));
  }

  /** The request's host: from an absolute-form target, else from the Host field; "" in HTTP/1.0 without one. */
  get host(): string {
    return this.#host;
  }

  /** Returns the offset of a field line's name. */
  nameStart(field: number): number {
    return this.start + this.#fields[field * PER_FIELD];
  }

  /** Returns the offset of a field line's colon, which ends its name. */
  nameEnd(field: number): number {
    return this.start + this.#fields[field * PER_FIELD + 1];
  }

  /** Returns the offset of a field line's CR, which ends its value. */
  valueEnd(field: number): number {
    return this.start + this.#fields[field * PER_FIELD + 2];
  }

  /** Reports whether a field line has that lower-case name. */
  isNamed(field: number, name: string): boolean {
    return isWord(this.bytes, this.nameStart(field), this.nameEnd(field), name);
  }

  /** Returns a field line's name as sent. */
  name(field: number): string {
    return decodeLatin1(this.bytes, this.nameStart(field), this.nameEnd(field));
  }

  /** Returns a field line's value without surrounding white space, one character per byte. */
  value(field: number): string {
    const end = this.valueEnd(field), from = skipSpace(this.bytes, this.nameEnd(field) + 1, end);
    return decodeLatin1(this.bytes, from, trimSpace(this.bytes, from, end));
  }

  /** Returns all values for a lower-case name, joined by ", "; null without any. */
  values(name: string): string | null {
    let joined: string | null = null;
    for (let field = 0; field < this.fieldCount; field++) {
      if (!this.isNamed(field, name)) continue;
      joined = joined === null ? this.value(field) : `${joined}, ${this.value(field)}`;
    }
    return joined;
  }

  /** Returns the number of the last field line with a lower-case name, or -1. */
  find(name: string): number {
    for (let field = this.fieldCount - 1; field >= 0; field--) if (this.isNamed(field, name)) return field;
    return -1;
  }

  /** Whether Content-Length is present, including 0. */
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

  /** Returns whether the line is complete. */
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
      // The last digit can vary.
      if (index === MINOR && bytes[at + index] === 0x30) continue;
      throw index > 5 && index <= MINOR ? otherVersion() : noRequest(bytes, start, end);
    }
    if (known < VERSION.length) return false;
    this.minorVersion = bytes[at + MINOR] === 0x31 ? 1 : 0;
    this.fieldsStart = at + VERSION.length;
    this.#readTarget();
    return true;
  }

  /** Parses the target in the forms of RFC 9112, section 3.2, except for CONNECT. */
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
    // Most names differ in length, which saves the comparison.
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
    // Two lines would be a list. Clients never send that, and a service may use the other line.
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
    // Equal lengths and lists are rejected too, because a service could read them differently.
    if (this.#hasLength) throw new RequestSyntaxError("One Content-Length is wanted.");
    if (!isDigits(this.bytes, from, to)) throw new RequestSyntaxError("Content-Length is malformed.");
    this.#hasLength = true;
    this.length = parseContentLength(this.bytes, from, to);
  }

  #takeCoding(start: number, end: number): void {
    const from = skipSpace(this.bytes, start, end), to = trimSpace(this.bytes, from, end);
    if (this.framing === "chunked" || !isWord(this.bytes, from, to, "chunked")) {
      throw new RequestSyntaxError("Only the transfer encoding chunked is supported, once.");
    }
    this.framing = "chunked";
  }

  /** Checks that need the complete head. */
  #conclude(): void {
    if (this.framing === "chunked") {
      if (this.#hasLength) throw new RequestSyntaxError("Content-Length and Transfer-Encoding exclude each other.");
      if (this.minorVersion === 0) throw new RequestSyntaxError("HTTP/1.0 has no transfer encodings.");
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
    // Consecutive requests on a connection name the same host.
    if (isText(bytes, start, end, this.#host) && end > start) return;
    const host = decodeLatin1(bytes, start, end);
    if (!HOST.test(host)) throw malformedHost();
    this.#host = host;
  }
}

const NOTHING = new Uint8Array(0);
const NO_VIEW = new DataView(NOTHING.buffer);
const VERSION = [..." HTTP/1.1\r\n"].map((char) => char.charCodeAt(0));
/** Offset of the minor version. */
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

/** Reports whether the bytes equal a text with one character per byte. */
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

/** Common methods are recognised by their bytes, without a string. */
function decodeMethod(bytes: Uint8Array, start: number, end: number): string {
  for (const method of METHODS) if (isText(bytes, start, end, method)) return method;
  return decodeLatin1(bytes, start, end);
}

/**
 * Searches for the end of a head that arrives in many parts, so that each byte is read once.
 * @param from end of the last search, or the head's start
 * @returns the offset after the blank line, or -1
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
