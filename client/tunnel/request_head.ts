import {
  FieldSyntaxError,
  isWord,
  MAX_FIELDS,
  parseContentLength,
  quote,
  scanFieldLines,
  scanFieldName,
  scanValue,
  skipSpace,
  TARGET_BYTES,
  TOKEN_BYTES,
  trimSpace,
} from "../../common/http1/mod.ts";

/** A request's head that must not be written to a connection, because a server could read it as something else. */
export class RequestSyntaxError extends SyntaxError {
  override name = "RequestSyntaxError";
}

/** Where the value of a field lies, without the white space around it. */
export interface ValueAt {
  readonly start: number;
  readonly end: number;
}

/** A request's head that is safe to write as it is. Offsets are into the buffer that was scanned. */
export interface RequestHead {
  /** Offset after the request line and its CRLF. */
  readonly lineEnd: number;
  /** Offset after the `host` line and its CRLF. */
  readonly hostEnd: number;
  /** Bytes of the body, or -1 when no length is given. */
  readonly contentLength: number;
  /** The body is chunked. Never with a length beside it. */
  readonly hasTransferEncoding: boolean;
  readonly method: string;
  /** As Latin-1 text, one character a byte. */
  readonly target: string;
  /** The value of `host`. */
  readonly host: ValueAt;
  /** Fields in which a browser or the relay names the public URL; the last of its kind, null where there is none. */
  readonly origin: ValueAt | null;
  readonly referer: ValueAt | null;
  readonly forwardedHost: ValueAt | null;
  readonly forwardedProto: ValueAt | null;
}

/**
 * Checks in one pass that `buffer[start, end)` is one whole request head and nothing else:
 * request line, field lines of which the first is `host`, blank line (RFC 9112, sections 3 and 5).
 * How long it may be is the caller's to limit.
 * @throws RequestSyntaxError for anything malformed or ambiguous: a second host, two lengths, a length beside
 * a transfer encoding, an encoding other than chunked, bytes after the blank line, more than {@link MAX_FIELDS} fields
 */
export function scanRequestHead(buffer: Uint8Array, start: number, end: number): RequestHead {
  try {
    return new ScannedHead(buffer, start, end);
  } catch (error) {
    if (error instanceof FieldSyntaxError) throw new RequestSyntaxError(error.message, { cause: error });
    throw error;
  }
}

class ScannedHead implements RequestHead {
  readonly lineEnd: number;
  readonly hostEnd: number;
  readonly method: string;
  readonly target: string;
  readonly host: ValueAt;
  contentLength = -1;
  hasTransferEncoding = false;
  origin: ValueAt | null = null;
  referer: ValueAt | null = null;
  forwardedHost: ValueAt | null = null;
  forwardedProto: ValueAt | null = null;
  #buffer: Uint8Array;
  #count = 1;

  constructor(buffer: Uint8Array, start: number, end: number) {
    this.#buffer = buffer;
    const methodEnd = scanMethod(buffer, start, end);
    this.method = decodeMethod(buffer, start, methodEnd);
    const targetEnd = scanTarget(buffer, methodEnd + 1, end);
    this.target = decodeLatin1(buffer, methodEnd + 1, targetEnd);
    this.lineEnd = targetEnd + VERSION.length;
    this.hostEnd = scanHost(buffer, this.lineEnd, end);
    this.host = trimValue(buffer, this.lineEnd + HOST.length, this.hostEnd - 2);
    const after = scanFieldLines(buffer, this.hostEnd, end, (nameStart, nameEnd, valueStart, valueEnd) => {
      this.#readField(nameStart, nameEnd, valueStart, valueEnd);
    });
    if (after !== end) throw new RequestSyntaxError(after < 0 ? "the head is cut short" : "bytes after the blank line");
    if (this.hasTransferEncoding && this.contentLength >= 0) {
      throw new RequestSyntaxError("both a transfer encoding and a length are given");
    }
  }

  #readField(nameStart: number, nameEnd: number, start: number, end: number): void {
    const buffer = this.#buffer;
    if (++this.#count > MAX_FIELDS) throw new RequestSyntaxError(`the head has more than ${MAX_FIELDS} fields`);
    switch (nameEnd - nameStart) {
      case 4:
        if (isWord(buffer, nameStart, nameEnd, "host")) throw new RequestSyntaxError("two hosts");
        break;
      case 6:
        if (isWord(buffer, nameStart, nameEnd, "origin")) this.origin = trimValue(buffer, start, end);
        break;
      case 7:
        if (isWord(buffer, nameStart, nameEnd, "referer")) this.referer = trimValue(buffer, start, end);
        break;
      case 14:
        if (!isWord(buffer, nameStart, nameEnd, "content-length")) break;
        // Equal ones are refused as well: a server behind us may not take lists.
        if (this.contentLength >= 0) throw new RequestSyntaxError("two lengths");
        this.contentLength = parseContentLength(buffer, start, end);
        break;
      case 16:
        if (isWord(buffer, nameStart, nameEnd, "x-forwarded-host")) this.forwardedHost = trimValue(buffer, start, end);
        break;
      case 17:
        if (isWord(buffer, nameStart, nameEnd, "transfer-encoding")) this.#readTransferEncoding(start, end);
        else if (isWord(buffer, nameStart, nameEnd, "x-forwarded-proto")) {
          this.forwardedProto = trimValue(buffer, start, end);
        }
    }
  }

  #readTransferEncoding(start: number, end: number): void {
    const from = skipSpace(this.#buffer, start, end);
    const to = trimSpace(this.#buffer, from, end);
    if (this.hasTransferEncoding || !isWord(this.#buffer, from, to, "chunked")) {
      throw new RequestSyntaxError(`the transfer encoding ${quote(this.#buffer, from, to)} is not one "chunked" alone`);
    }
    this.hasTransferEncoding = true;
  }
}

function trimValue(buffer: Uint8Array, start: number, end: number): ValueAt {
  const from = skipSpace(buffer, start, end);
  return { start: from, end: trimSpace(buffer, from, end) };
}

const SPACE = 0x20;
const HOST = "host:";

/** Offset of the space after the method. */
function scanMethod(buffer: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && TOKEN_BYTES[buffer[at]] === 1) at++;
  if (at === start || at === end || buffer[at] !== SPACE) throw requestLineError("method", buffer, start, end);
  return at;
}

/** What must follow the target. */
const VERSION = " HTTP/1.1\r\n";

/** Offset of the space after the target. */
function scanTarget(buffer: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && TARGET_BYTES[buffer[at]] === 1) at++;
  if (at === start) throw requestLineError("target", buffer, start, end);
  for (let index = 0; index < VERSION.length; index++) {
    if (at + index >= end || buffer[at + index] !== VERSION.charCodeAt(index)) {
      throw requestLineError("version", buffer, at, end);
    }
  }
  return at;
}

function requestLineError(what: string, buffer: Uint8Array, start: number, end: number): RequestSyntaxError {
  return new RequestSyntaxError(`no valid ${what} at ${quote(buffer, start, end)}`);
}

/** Offset after the first field line, which must be the host. */
function scanHost(buffer: Uint8Array, start: number, end: number): number {
  const colon = scanFieldName(buffer, start, end);
  const valueEnd = colon < 0 ? -1 : scanValue(buffer, colon + 1, end);
  if (valueEnd < 0) throw new RequestSyntaxError("the head is cut short");
  if (!isWord(buffer, start, colon, "host")) throw new RequestSyntaxError("the first field is not the host");
  return valueEnd + 2;
}

/** The methods that need no new string. */
const METHODS = ["GET", "POST", "HEAD", "PUT", "OPTIONS", "PATCH", "DELETE"];

function decodeMethod(buffer: Uint8Array, start: number, end: number): string {
  const known = METHODS.find((method) => method.length === end - start && startsWith(buffer, start, method));
  return known ?? decodeLatin1(buffer, start, end);
}

function startsWith(buffer: Uint8Array, start: number, text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    if (buffer[start + index] !== text.charCodeAt(index)) return false;
  }
  return true;
}

function decodeLatin1(buffer: Uint8Array, start: number, end: number): string {
  let text = "";
  for (let at = start; at < end; at++) text += String.fromCharCode(buffer[at]);
  return text;
}
