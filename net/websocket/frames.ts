/** Frames of RFC 6455: their format, a writer and a reader, without I/O. */

/** Frame types. */
export const Opcode = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
/** A value of {@link Opcode}. A peer that sends another value breaks the protocol. */
export type Opcode = typeof Opcode[keyof typeof Opcode];

/** Close codes (RFC 6455, section 7.4.1). */
export const CloseCode = {
  normal: 1000,
  goingAway: 1001,
  protocolError: 1002,
  /** A close frame without a code. Never sent. */
  none: 1005,
  /** A broken connection. Never sent. */
  broken: 1006,
  badData: 1007,
  tooBig: 1009,
} as const;

/** Free bytes that {@link frameInPlace} needs before a payload: the longest head, rounded up to 32-bit words. */
export const FRAME_SPACE = 16;

/** Longest control frame payload in bytes. */
const MAX_CONTROL = 125;

/** A violation of RFC 6455 or of a limit. `code` is the close code to send. */
export class WebSocketError extends Error {
  override name = "WebSocketError";
  readonly code: number;

  constructor(message: string, code: number = CloseCode.protocolError) {
    super(message);
    this.code = code;
  }
}

/**
 * The mask: a server sends `bare` frames, a client uses a `random` key. Inside TLS and on this machine no intermediary can
 * misread the bytes, so a client may use a `zero` key.
 */
export type Masking = "bare" | "random" | "zero";

/**
 * Masks `buffer[start, end)` in place and writes the frame's head right before it.
 * @param buffer starts at offset 0 of its ArrayBuffer, with {@link FRAME_SPACE} free bytes before `start`, a multiple of 4
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

/** Creates a small frame, such as a control frame. */
export function createFrame(opcode: Opcode, payload: Uint8Array, masking: Masking): Uint8Array<ArrayBuffer> {
  const buffer = new Uint8Array(FRAME_SPACE + payload.length);
  buffer.set(payload, FRAME_SPACE);
  return buffer.subarray(frameInPlace(buffer, FRAME_SPACE, buffer.length, opcode, true, masking));
}

/** Returns a close frame payload (RFC 6455, section 5.5.1), which is empty for codes that are never sent. */
export function createClosePayload(code: number, reason: string): Uint8Array {
  if (code === CloseCode.none || code === CloseCode.broken) return new Uint8Array(0);
  const payload = new Uint8Array(MAX_CONTROL);
  payload[0] = code >> 8;
  payload[1] = code;
  // encodeInto cuts between characters. A peer rejects half a character, because that is not UTF-8.
  const { written } = new TextEncoder().encodeInto(reason, payload.subarray(2));
  return payload.subarray(0, 2 + written);
}

/**
 * Reads the code and the reason in a close frame.
 * @throws WebSocketError for an invalid code, and for a reason that is not UTF-8
 */
export function parseClosePayload(payload: Uint8Array): { code: number; reason: string } {
  if (payload.length === 0) return { code: CloseCode.none, reason: "" };
  const code = payload[0] << 8 | payload[1];
  if (payload.length === 1 || !mayBeSent(code)) throw new WebSocketError("a close frame has an invalid code");
  return { code, reason: decodeUtf8(payload.subarray(2)) };
}

/** Returns whether a close frame may have the code (RFC 6455, section 7.4, and later registrations). */
export function mayBeSent(code: number): boolean {
  return (code >= 1000 && code <= 1014 && code !== 1004 && code !== CloseCode.none && code !== CloseCode.broken) ||
    (code >= 3000 && code <= 4999);
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decodes UTF-8. @throws WebSocketError */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch (cause) {
    const error = new WebSocketError("a text is not UTF-8", CloseCode.badData);
    error.cause = cause;
    throw error;
  }
}

/** The mask key, rotated to the start of a word: as bytes, and as a word in this machine's byte order. */
const turned = new Uint8Array(4);
const turnedWord = new Uint32Array(turned.buffer);

/**
 * Masks or unmasks `bytes[start, end)` in place, by 32-bit words.
 * @param phase payload bytes before `start`
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

/** The receiver of a reader's frames. */
export interface FrameListener {
  /**
   * Receives the next bytes of a message, unmasked: `bytes[start, end)`.
   * @param last whether they end the message
   */
  onData(bytes: Uint8Array<ArrayBuffer>, start: number, end: number, text: boolean, last: boolean): void;
  /** Receives a close, ping or pong frame. Its payload lies in the given bytes. */
  onControl(opcode: Opcode, payload: Uint8Array<ArrayBuffer>): void;
}

/** Options of a {@link FrameReader}. */
export interface FrameReaderOptions {
  /** Whether the peer is a client: its frames are masked, and a server's are not. */
  masked: boolean;
  /** The largest message in bytes, checked at each frame head. No limit by default. */
  maxMessageBytes?: number;
  listener: FrameListener;
}

const FIN = 0x80;
const MASKED = 0x80;

/** Reads frames in place. It stores no payload: the listener gets each part when it arrives. */
export class FrameReader {
  readonly #listener: FrameListener;
  readonly #masked: boolean;
  readonly #maxMessage: number;
  /** Payload bytes of the current data frame that have not arrived. */
  #left = 0;
  /** Payload bytes of the current data frame that have arrived. */
  #taken = 0;
  #fin = true;
  /** Whether a message is incomplete, and whether it is text. */
  #inMessage = false;
  #text = false;
  /** Message bytes in all frames so far, including the whole current frame. */
  #size = 0;
  readonly #key = new Uint8Array(4);
  #isKeyZero = true;
  #stopped = false;

  constructor({ listener, masked, maxMessageBytes = Number.MAX_SAFE_INTEGER }: FrameReaderOptions) {
    this.#listener = listener;
    this.#masked = masked;
    this.#maxMessage = maxMessageBytes;
  }

  /** Stops reading, also within the current call of {@link push}. */
  stop(): void {
    this.#stopped = true;
  }

  /**
   * Reads and unmasks `bytes[start, end)` in place.
   * @returns the offset after the read bytes. The caller passes the rest again with later bytes: it is an incomplete head
   * or control frame.
   * @throws WebSocketError for a frame that the peer must not send
   */
  push(bytes: Uint8Array<ArrayBuffer>, start: number, end: number): number {
    let at = start;
    while (at < end && !this.#stopped) {
      const next = this.#left > 0 ? this.#takePayload(bytes, at, end) : this.#takeHead(bytes, at, end);
      if (next === at) return at;
      at = next;
    }
    return this.#stopped ? end : at;
  }

  #takePayload(bytes: Uint8Array<ArrayBuffer>, start: number, have: number): number {
    const end = Math.min(have, start + this.#left);
    if (!this.#isKeyZero) applyMask(bytes, start, end, this.#key, this.#taken);
    this.#left -= end - start;
    this.#taken += end - start;
    this.#emit(bytes, start, end);
    return end;
  }

  #emit(bytes: Uint8Array<ArrayBuffer>, start: number, end: number): void {
    const last = this.#left === 0 && this.#fin;
    if (last) this.#inMessage = false;
    this.#listener.onData(bytes, start, end, this.#text, last);
  }

  /** Returns `at` when the head is incomplete. */
  #takeHead(bytes: Uint8Array<ArrayBuffer>, at: number, have: number): number {
    if (have - at < 2) return at;
    const first = bytes[at], short = bytes[at + 1] & 0x7f, opcode = (first & 0x0f) as Opcode;
    this.#checkHead(first, bytes[at + 1]);
    const keyAt = at + (short < 126 ? 2 : short === 126 ? 4 : 10), from = keyAt + (this.#masked ? 4 : 0);
    if (opcode >= Opcode.close) return this.#takeControl(bytes, at, keyAt, from, from + short, have);
    if (have < from) return at;
    this.#startFrame(opcode, (first & FIN) !== 0, short < 126 ? short : readLength(bytes, at + 2, keyAt));
    if (this.#masked) this.#readKey(bytes, keyAt);
    if (this.#left === 0) this.#emit(bytes, from, from);
    return from;
  }

  #checkHead(first: number, second: number): void {
    const opcode = first & 0x0f;
    if ((first & 0x70) !== 0) throw new WebSocketError("a frame uses an unknown extension");
    if (((second & MASKED) !== 0) !== this.#masked) {
      throw new WebSocketError(this.#masked ? "a client's frame is not masked" : "a server's frame is masked");
    }
    if ((opcode > Opcode.binary && opcode < Opcode.close) || opcode > Opcode.pong) {
      throw new WebSocketError(`opcode ${opcode} is unknown`);
    }
    if (opcode >= Opcode.close && ((first & FIN) === 0 || (second & 0x7f) > MAX_CONTROL)) {
      throw new WebSocketError("a control frame is fragmented or too long");
    }
  }

  #startFrame(opcode: Opcode, fin: boolean, length: number): void {
    if ((opcode === Opcode.continuation) !== this.#inMessage) {
      throw new WebSocketError("a message starts or continues out of order");
    }
    if (!this.#inMessage) {
      this.#text = opcode === Opcode.text;
      this.#size = 0;
    }
    this.#inMessage = true;
    this.#fin = fin;
    this.#left = length;
    this.#taken = 0;
    this.#size += length;
    if (this.#size > this.#maxMessage) throw new WebSocketError("a message is too large", CloseCode.tooBig);
  }

  #readKey(bytes: Uint8Array, at: number): void {
    const key = this.#key;
    for (let index = 0; index < 4; index++) key[index] = bytes[at + index];
    this.#isKeyZero = (key[0] | key[1] | key[2] | key[3]) === 0;
  }

  #takeControl(
    bytes: Uint8Array<ArrayBuffer>,
    at: number,
    keyAt: number,
    from: number,
    end: number,
    have: number,
  ): number {
    if (have < end) return at;
    if (this.#masked) applyMask(bytes, from, end, bytes.slice(keyAt, from), 0);
    this.#listener.onControl((bytes[at] & 0x0f) as Opcode, bytes.subarray(from, end));
    return end;
  }
}

function readLength(bytes: Uint8Array, start: number, end: number): number {
  let length = 0;
  for (let at = start; at < end; at++) length = length * 256 + bytes[at];
  if (length > Number.MAX_SAFE_INTEGER) throw new WebSocketError("a frame is too large", CloseCode.tooBig);
  return length;
}
