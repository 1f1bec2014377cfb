import { createHash, randomBytes } from "node:crypto";

/** How frames of RFC 6455 are written, and what both ends of a WebSocket know. Without I/O. */

export const Opcode = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
/** A value of {@link Opcode}; others are an error of the peer's. */
export type Opcode = typeof Opcode[keyof typeof Opcode];

/** Codes of close frames (RFC 6455, section 7.4.1), as far as we name them. */
export const CloseCode = {
  normal: 1000,
  goingAway: 1001,
  protocolError: 1002,
  /** Stands for a close frame without a code. Never sent. */
  none: 1005,
  /** Stands for a connection that broke. Never sent. */
  broken: 1006,
  badData: 1007,
  tooBig: 1009,
} as const;

/** Free bytes that {@link frameInPlace} wants before a payload: the longest head, rounded up to whole 32-bit words. */
export const FRAME_SPACE = 16;

/** Longest payload of a control frame. */
export const MAX_CONTROL = 125;

/** A peer that breaks RFC 6455, or a limit. `code` is what to close with. */
export class WebSocketError extends Error {
  override name = "WebSocketError";
  readonly code: number;

  constructor(message: string, code: number = CloseCode.protocolError) {
    super(message);
    this.code = code;
  }
}

/** A fresh `Sec-WebSocket-Key`. */
export const createWebSocketKey = (): string => randomBytes(16).toString("base64");

/** The `Sec-WebSocket-Accept` that answers `key` (RFC 6455, section 4.2.2). */
export function acceptFor(key: string): string {
  return createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
}

/** How frames are masked: a server's are `bare`; a client's have a `random` key, or a `zero` one where nobody in
 * between could be confused by what is sent: inside TLS and on this machine. */
export type Masking = "bare" | "random" | "zero";

/**
 * Masks `buffer[start, end)` in place and writes the frame's head right before it.
 * @param buffer begins at offset 0 of its memory, with {@link FRAME_SPACE} free bytes before `start`, a multiple of four
 * @returns the offset at which the frame starts
 */
export function frameInPlace(
  buffer: Uint8Array<ArrayBuffer>,
  start: number,
  end: number,
  opcode: Opcode,
  fin: boolean,
  masking: Masking,
): number {
  const size = end - start, keySize = masking === "bare" ? 0 : 4, bit = masking === "bare" ? 0 : 0x80;
  const at = start - keySize - (size < 126 ? 2 : size < 65_536 ? 4 : 10);
  buffer[at] = (fin ? 0x80 : 0) | opcode;
  if (size < 126) buffer[at + 1] = bit | size;
  else if (size < 65_536) {
    buffer[at + 1] = bit | 126;
    buffer[at + 2] = size >> 8;
    buffer[at + 3] = size;
  } else {
    buffer[at + 1] = bit | 127;
    // No message is larger than 2^32 - 1 bytes.
    buffer[at + 2] =
      buffer[at + 3] =
      buffer[at + 4] =
      buffer[at + 5] =
        0;
    buffer[at + 6] = size >>> 24;
    buffer[at + 7] = size >>> 16;
    buffer[at + 8] = size >>> 8;
    buffer[at + 9] = size;
  }
  if (masking === "zero") buffer.fill(0, start - 4, start);
  else if (masking === "random") {
    crypto.getRandomValues(buffer.subarray(start - 4, start));
    applyMask(buffer, start, end, buffer.slice(start - 4, start), 0);
  }
  return at;
}

/** One whole small frame as bytes of its own, for control frames. */
export function createFrame(opcode: Opcode, payload: Uint8Array, masking: Masking): Uint8Array<ArrayBuffer> {
  const buffer = new Uint8Array(FRAME_SPACE + payload.length);
  buffer.set(payload, FRAME_SPACE);
  return buffer.subarray(frameInPlace(buffer, FRAME_SPACE, buffer.length, opcode, true, masking));
}

/** Payload of a close frame (RFC 6455, section 5.5.1): nothing for the codes that are never sent. */
export function createClosePayload(code: number, reason: string): Uint8Array {
  if (code === CloseCode.none || code === CloseCode.broken) return new Uint8Array(0);
  const payload = new Uint8Array(MAX_CONTROL);
  payload[0] = code >> 8;
  payload[1] = code;
  // Cut between characters: half a one is no UTF-8, and a peer must fail the connection for that.
  const { written } = new TextEncoder().encodeInto(reason, payload.subarray(2));
  return payload.subarray(0, 2 + written);
}

/**
 * Code and reason of a close frame.
 * @throws WebSocketError for a code that may not be sent, and a reason that is no UTF-8
 */
export function parseClosePayload(payload: Uint8Array): { code: number; reason: string } {
  if (payload.length === 0) return { code: CloseCode.none, reason: "" };
  const code = payload[0] << 8 | payload[1];
  if (payload.length === 1 || !mayBeSent(code)) throw new WebSocketError("a close frame has a wrong code");
  return { code, reason: decodeUtf8(payload.subarray(2)) };
}

/** Whether a close frame may have the code (RFC 6455, section 7.4, and what was registered since). */
export function mayBeSent(code: number): boolean {
  return (code >= 1000 && code <= 1014 && code !== 1004 && code !== CloseCode.none && code !== CloseCode.broken) ||
    (code >= 3000 && code <= 4999);
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** @throws WebSocketError */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch (cause) {
    const error = new WebSocketError("a text is no UTF-8", CloseCode.badData);
    error.cause = cause;
    throw error;
  }
}

/** The key turned to where a word begins; as bytes and as the word of this machine's byte order. */
const turned = new Uint8Array(4);
const turnedWord = new Uint32Array(turned.buffer);

/**
 * Masks or unmasks `bytes[start, end)` in place, by 32-bit words.
 * @param phase how many bytes of the frame's payload come before `start`
 */
export function applyMask(
  bytes: Uint8Array<ArrayBuffer>,
  start: number,
  end: number,
  key: Uint8Array,
  phase: number,
): void {
  const shift = phase - start;
  let at = start;
  for (; at < end && ((bytes.byteOffset + at) & 3) !== 0; at++) bytes[at] ^= key[(at + shift) & 3];
  const count = (end - at) >> 2;
  if (count > 0) {
    for (let index = 0; index < 4; index++) turned[index] = key[(at + shift + index) & 3];
    const word = turnedWord[0], words = new Uint32Array(bytes.buffer, bytes.byteOffset + at, count);
    for (let index = 0; index < count; index++) words[index] ^= word;
    at += count * 4;
  }
  for (; at < end; at++) bytes[at] ^= key[(at + shift) & 3];
}
