/** HTTP/2 frame constants and helpers (RFC 9113, sections 4 and 6). */

/** Frame types. */
export const FrameType = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** Flags. The comments name the frame types that have them. */
export const Flag = {
  /** DATA, HEADERS. */
  endStream: 0x1,
  /** SETTINGS, PING. */
  ack: 0x1,
  /** HEADERS, CONTINUATION. */
  endHeaders: 0x4,
  /** DATA, HEADERS. */
  padded: 0x8,
  /** HEADERS. */
  priority: 0x20,
} as const;

/** SETTINGS identifiers (RFC 9113, section 6.5.2). */
export const Setting = {
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

/** Error codes (RFC 9113, section 7). */
export const ErrorCode = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refusedStream: 7,
  cancel: 8,
  compression: 9,
  enhanceYourCalm: 11,
} as const;
/** A value of {@link ErrorCode}. */
export type ErrorCode = typeof ErrorCode[keyof typeof ErrorCode];

/** Frame head size in bytes: length (3), type (1), flags (1), stream (4). */
export const FRAME_HEAD = 9;
/** SETTINGS entry size in bytes: identifier (2), value (4). */
export const SETTING_SIZE = 6;
/** Largest payload in both directions: every peer accepts it (RFC 9113, section 4.2). */
export const MAX_FRAME = 16_384;
/** First window of a stream and of a connection in bytes (RFC 9113, section 6.9.2). */
export const FIRST_WINDOW = 65_535;
/** Largest window (RFC 9113, section 6.9.1). */
export const MAX_WINDOW = 2 ** 31 - 1;

const PREFACE_TEXT = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/** The first bytes from a client (RFC 9113, section 3.4). */
export const PREFACE: readonly number[] = [...PREFACE_TEXT].map((char) => char.charCodeAt(0));

/** An error that ends the connection. */
export class ConnectionError extends Error {
  override name = "ConnectionError";
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** An error that ends one stream only. */
export class StreamError extends Error {
  override name = "StreamError";
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** Reads a big-endian 32-bit number. */
export function readU32(bytes: Uint8Array, at: number): number {
  return (bytes[at] << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3]) >>> 0;
}

/** Reads a big-endian 31-bit number after one reserved bit. */
export function readU31(bytes: Uint8Array, at: number): number {
  return readU32(bytes, at) & 0x7fffffff;
}

/** Writes a frame head at `at`. @returns the offset after it */
export function writeFrameHead(
  to: Uint8Array,
  at: number,
  length: number,
  type: number,
  flags: number,
  stream: number,
): number {
  to[at] = length >> 16;
  to[at + 1] = length >> 8;
  to[at + 2] = length;
  to[at + 3] = type;
  to[at + 4] = flags;
  return writeU32(to, at + 5, stream);
}

/** Writes a big-endian 32-bit number. @returns the offset after it */
export function writeU32(to: Uint8Array, at: number, value: number): number {
  to[at] = value >>> 24;
  to[at + 1] = value >>> 16;
  to[at + 2] = value >>> 8;
  to[at + 3] = value;
  return at + 4;
}

/** Returns the payload size without padding. A malformed padding length counts as no payload. */
export function unpaddedSize(flags: number, bytes: Uint8Array, start: number, end: number): number {
  return (flags & Flag.padded) === 0 ? end - start : Math.max(0, end - start - 1 - bytes[start]);
}

/** Returns the payload `bytes[start, end)` without padding (RFC 9113, section 6.1). @throws ConnectionError */
export function unpad(flags: number, bytes: Uint8Array, start: number, end: number): Uint8Array {
  if ((flags & Flag.padded) === 0) return bytes.subarray(start, end);
  const padding = bytes[start];
  if (end - start < 1 + padding) throw new ConnectionError(ErrorCode.protocol, "more padding than payload");
  return bytes.subarray(start + 1, end - padding);
}
