import {
  closeFieldName,
  COLON,
  CR,
  describeByte,
  FieldSyntaxError,
  isWord,
  LF,
  listHasWord,
  MAX_FIELDS,
  parseContentLength,
  quote,
  scanFieldName,
  scanValue,
  skipSpace,
  TOKEN_BYTES,
  trimSpace,
} from "./field_lines.ts";

/** Limit for a response head in bytes, with status line and blank line. Node allows 16 KiB, most servers 8 to 64. */
export const MAX_RESPONSE_HEAD = 64 * 1024;

/** The peer does not send valid and unambiguous HTTP/1.1. */
export class ResponseSyntaxError extends SyntaxError {
  override name = "ResponseSyntaxError";
}

/** The properties of a request that decide how its response is parsed. */
export interface RequestFacts {
  /** As sent, because methods are case-sensitive. */
  readonly method: string;
  /** Whether the request asked for another protocol, so that 101 is a valid response. */
  readonly upgrade: boolean;
  /** Highest forwarded status, up to 999; 599 if left out, the highest defined one. */
  readonly maxStatus?: number;
}

/**
 * Framing for a response body (RFC 9112, section 6.3): none, a length, chunks, the connection's end, or another
 * protocol.
 */
export type Framing = "none" | "length" | "chunked" | "close" | "upgrade";

/** A response head. All offsets refer to the parsed buffer. */
export interface ResponseHead {
  /** Offset after the head. */
  readonly end: number;
  readonly status: number;
  /** Offset of the reason phrase, which may be empty. The bytes up to `fieldsEnd` are the head without its status. */
  readonly reasonStart: number;
  /** The field lines, each with its CRLF, without the blank line: `buffer[fieldsStart, fieldsEnd)`. */
  readonly fieldsStart: number;
  readonly fieldsEnd: number;
  readonly framing: Framing;
  /** Body length in bytes if framing is `length`, else 0. */
  readonly length: number;
  /** Whether the connection can carry another request after this response. */
  readonly keepAlive: boolean;
  /** A 1xx status except 101: a final response follows. */
  readonly informational: boolean;
}

/**
 * Parses a response head from `buffer[start, end)` in one pass, without copies.
 * @returns null for an incomplete head
 * @throws ResponseSyntaxError for malformed or ambiguous input, even if incomplete, and for a head longer than {@link
 * MAX_RESPONSE_HEAD} or with more than {@link MAX_FIELDS} fields
 */
export function parseResponseHead(
  buffer: Uint8Array,
  start: number,
  end: number,
  request: RequestFacts,
): ResponseHead | null {
  try {
    const limit = start + MAX_RESPONSE_HEAD;
    const head = scanHead(buffer, start, Math.min(end, limit), request);
    if (head === null && end >= limit) {
      throw new ResponseSyntaxError(`the head is longer than ${MAX_RESPONSE_HEAD} bytes`);
    }
    return head;
  } catch (error) {
    if (error instanceof FieldSyntaxError) throw new ResponseSyntaxError(error.message, { cause: error });
    throw error;
  }
}

function scanHead(buffer: Uint8Array, start: number, end: number, request: RequestFacts): ResponseHead | null {
  const maxStatus = request.maxStatus ?? MAX_STATUS;
  const statusLineEnd = scanStatusLine(buffer, start, end, maxStatus);
  if (statusLineEnd < 0) return null;
  const fieldsStart = statusLineEnd + 2;
  const fields = createFramingFields();
  let at = fieldsStart, count = 0;
  while (at < end && buffer[at] !== CR) {
    const colon = scanName(buffer, at, end);
    const valueEnd = colon < 0 ? -1 : scanValue(buffer, colon + 1, end);
    if (++count > MAX_FIELDS) throw new ResponseSyntaxError(`the head has more than ${MAX_FIELDS} fields`);
    if (valueEnd < 0) return null;
    readField(fields, buffer, at, colon, valueEnd);
    at = valueEnd + 2;
  }
  if (at + 1 >= end) return null;
  if (buffer[at + 1] !== LF) throw new ResponseSyntaxError("a bare CR inside a line");
  return createHead(buffer, start, fieldsStart, at, fields, request);
}

/** {@link scanFieldName} that accepts white space before the colon, which some services send. */
function scanName(buffer: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && TOKEN_BYTES[buffer[at]] === 1) at++;
  if (at === end || (buffer[at] !== COLON && closeFieldName(buffer, start, at, end) < 0)) return -1;
  return scanFieldName(buffer, start, end);
}

const MAX_STATUS = 599;

/** Length of `HTTP/1.1 200`, which a reason phrase may follow. */
const STATUS_END = 12;
const VERSION = [..."HTTP/1."].map((char) => char.charCodeAt(0));

/** Returns the offset of the CRLF after the status line (RFC 9112, section 4), or -1 when it is missing so far. */
function scanStatusLine(buffer: Uint8Array, start: number, end: number, maxStatus: number): number {
  const known = Math.min(end - start, VERSION.length);
  for (let index = 0; index < known; index++) {
    if (buffer[start + index] !== VERSION[index]) throw statusLineError(buffer, start, end);
  }
  if (end - start < STATUS_END + 1) return -1;
  const minor = buffer[start + 7];
  if ((minor !== 0x30 && minor !== 0x31) || buffer[start + 8] !== 0x20) throw statusLineError(buffer, start, end);
  const status = parseStatus(buffer, start);
  if (status < 100 || status > maxStatus) {
    throw new ResponseSyntaxError(`status ${status} is not within 100 to ${maxStatus}`);
  }
  const afterStatus = buffer[start + STATUS_END];
  // Many servers leave out the space before an empty reason phrase, and every client accepts that.
  if (afterStatus !== 0x20 && afterStatus !== CR) throw statusLineError(buffer, start, end);
  return scanValue(buffer, start + STATUS_END, end);
}

function statusLineError(buffer: Uint8Array, start: number, end: number): ResponseSyntaxError {
  if (startsWithHttp2(buffer, start, end)) {
    return new ResponseSyntaxError("the service speaks HTTP/2 only, and HTTP/1.1 is needed");
  }
  return new ResponseSyntaxError(
    `the response does not start with an HTTP/1.1 status line but with ${quote(buffer, start, end)}`,
  );
}

/** Reports whether a peer began with frames: SETTINGS, or GOAWAY, on stream 0 (RFC 9113, sections 3.4 and 6.5). */
function startsWithHttp2(buffer: Uint8Array, start: number, end: number): boolean {
  if (end - start < 9) return false;
  const type = buffer[start + 3];
  const isOnConnection = buffer.subarray(start + 5, start + 9).every((byte) => byte === 0);
  return buffer[start] === 0 && isOnConnection && (type === 4 || type === 7);
}

function parseStatus(buffer: Uint8Array, start: number): number {
  let status = 0;
  for (let at = start + 9; at < start + STATUS_END; at++) {
    const digit = buffer[at] - 0x30;
    if (digit < 0 || digit > 9) throw new ResponseSyntaxError(`${describeByte(buffer[at])} in the status code`);
    status = status * 10 + digit;
  }
  return status;
}

/** Properties from the fields about framing and connection. */
interface FramingFields {
  /** -1 without Content-Length. */
  contentLength: number;
  chunked: boolean;
  close: boolean;
  keepAlive: boolean;
}

function createFramingFields(): FramingFields {
  return { contentLength: -1, chunked: false, close: false, keepAlive: false };
}

function readField(fields: FramingFields, buffer: Uint8Array, start: number, colon: number, end: number): void {
  // Most names differ in length from these three, which saves the comparison.
  switch (colon - start) {
    case 10:
      if (isWord(buffer, start, colon, "connection")) readConnection(fields, buffer, colon + 1, end);
      break;
    case 14:
      if (!isWord(buffer, start, colon, "content-length")) break;
      if (fields.contentLength >= 0) throw new ResponseSyntaxError("two Content-Length fields are given");
      fields.contentLength = parseContentLength(buffer, colon + 1, end);
      break;
    case 17:
      if (isWord(buffer, start, colon, "transfer-encoding")) readTransferEncoding(fields, buffer, colon + 1, end);
  }
}

function readConnection(fields: FramingFields, buffer: Uint8Array, start: number, end: number): void {
  if (listHasWord(buffer, start, end, "close")) fields.close = true;
  if (listHasWord(buffer, start, end, "keep-alive")) fields.keepAlive = true;
}

function readTransferEncoding(fields: FramingFields, buffer: Uint8Array, start: number, end: number): void {
  const from = skipSpace(buffer, start, end);
  const to = trimSpace(buffer, from, end);
  if (fields.chunked || !isWord(buffer, from, to, "chunked")) {
    throw new ResponseSyntaxError(`the transfer encoding ${quote(buffer, from, to)} is not one "chunked" alone`);
  }
  fields.chunked = true;
}

function createHead(
  buffer: Uint8Array,
  start: number,
  fieldsStart: number,
  fieldsEnd: number,
  fields: FramingFields,
  request: RequestFacts,
): ResponseHead {
  if (fields.chunked && fields.contentLength >= 0) {
    throw new ResponseSyntaxError("both a transfer encoding and a length are given");
  }
  const status = parseStatus(buffer, start);
  const framing = chooseFraming(status, fields, request);
  return {
    end: fieldsEnd + 2,
    status,
    reasonStart: start + (buffer[start + STATUS_END] === 0x20 ? STATUS_END + 1 : STATUS_END),
    fieldsStart,
    fieldsEnd,
    framing,
    length: framing === "length" ? fields.contentLength : 0,
    keepAlive: mayKeepAlive(buffer[start + 7] === 0x31, status, framing, fields),
    informational: status < 200 && status !== 101,
  };
}

/** RFC 9112, section 6.3, in its order. */
function chooseFraming(status: number, fields: FramingFields, request: RequestFacts): Framing {
  if (status === 101) {
    if (!request.upgrade) throw new ResponseSyntaxError("status 101 belongs to a request without an upgrade");
    return "upgrade";
  }
  if (request.method === "HEAD" || status < 200 || status === 204 || status === 304) return "none";
  if (request.method === "CONNECT" && status < 300) return "upgrade";
  if (fields.chunked) return "chunked";
  return fields.contentLength >= 0 ? "length" : "close";
}

function mayKeepAlive(is11: boolean, status: number, framing: Framing, fields: FramingFields): boolean {
  if (framing === "close" || framing === "upgrade" || fields.close) return false;
  // Servers that announce a body with 204 usually send one, which would be read as the next response.
  if (status === 204 && (fields.chunked || fields.contentLength > 0)) return false;
  // An HTTP/1.0 server does not know chunks, so their end is unreliable (RFC 9112, section 6.1).
  return is11 || (fields.keepAlive && !fields.chunked);
}
