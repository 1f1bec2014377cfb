import { createHash, randomBytes } from "node:crypto";

/** The client's side of WebSocket framing (RFC 6455), without I/O. */

export const Opcode = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
export type Opcode = typeof Opcode[keyof typeof Opcode];

/** Bytes of the longest frame head that a client writes. */
export const MAX_FRAME_HEAD = 14;

/** A peer that breaks RFC 6455. */
export class WebSocketError extends Error {
  override name = "WebSocketError";
}

/** A fresh `Sec-WebSocket-Key`. */
export const createWebSocketKey = (): string => randomBytes(16).toString("base64");

/** The `Sec-WebSocket-Accept` that answers `key` (RFC 6455, section 4.2.2). */
export function acceptFor(key: string): string {
  return createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
}

/**
 * Masks `buffer[start, end)` in place and writes the frame's head right before it.
 * @param buffer begins at offset 0 of its memory, with `MAX_FRAME_HEAD` free bytes before `start`, a multiple of four
 * @param masked false writes a mask of zero, which is for TLS and for this machine: there nobody in between reads along
 * @returns the offset at which the frame starts
 */
export function frameInPlace(
  buffer: Uint8Array<ArrayBuffer>,
  start: number,
  end: number,
  opcode: Opcode,
  fin: boolean,
  masked: boolean,
): number {
  const size = end - start;
  const head = size < 126 ? 6 : size < 65_536 ? 8 : 14;
  const at = start - head;
  buffer[at] = (fin ? 0x80 : 0) | opcode;
  if (size < 126) buffer[at + 1] = 0x80 | size;
  else if (size < 65_536) {
    buffer[at + 1] = 0x80 | 126;
    buffer[at + 2] = size >> 8;
    buffer[at + 3] = size;
  } else {
    buffer[at + 1] = 0x80 | 127;
    new DataView(buffer.buffer).setBigUint64(at + 2, BigInt(size));
  }
  if (masked) mask(buffer, start, end);
  else buffer.fill(0, start - 4, start);
  return at;
}

/** Masks by 32-bit words with a fresh random key, which is left in the four bytes before `start`. */
function mask(buffer: Uint8Array<ArrayBuffer>, start: number, end: number): void {
  crypto.getRandomValues(buffer.subarray(start - 4, start));
  const words = new Uint32Array(buffer.buffer, start, (end - start) >> 2);
  const key = new Uint32Array(buffer.buffer, start - 4, 1)[0];
  for (let i = 0; i < words.length; i++) words[i] ^= key;
  for (let at = start + words.length * 4; at < end; at++) buffer[at] ^= buffer[start - 4 + ((at - start) & 3)];
}

/** One whole small frame as bytes of its own, for control frames. */
export function createFrame(opcode: Opcode, payload: Uint8Array, masked: boolean): Uint8Array {
  const buffer = new Uint8Array(16 + payload.length);
  buffer.set(payload, 16);
  return buffer.subarray(frameInPlace(buffer, 16, buffer.length, opcode, true, masked));
}

/** Payload of a close frame (RFC 6455, section 5.5.1). 1005 means that no code was given. */
export function createClosePayload(code: number, reason: string): Uint8Array {
  if (code === 1005) return new Uint8Array(0);
  const payload = new Uint8Array(125);
  payload[0] = code >> 8;
  payload[1] = code;
  // Cut between characters: half a one is no UTF-8, and a server must fail the connection for that.
  const { written } = new TextEncoder().encodeInto(reason, payload.subarray(2));
  return payload.subarray(0, 2 + written);
}

/** What a reader finds. Views are into the bytes that were pushed. */
export interface FrameListener {
  /** A piece of a data message. `last` ends the message, not only the frame. */
  onPiece(piece: Uint8Array, text: boolean, last: boolean): void;
  /** A ping, pong or close frame, whole. */
  onControl(opcode: Opcode, payload: Uint8Array): void;
}

/** Takes a server's frames apart, wherever the bytes are cut. Pieces are handed on as they come, never gathered. */
export class FrameReader {
  readonly #listener: FrameListener;
  /** The head of the next frame as far as it is there, and the payload of a control frame. */
  readonly #held = new Uint8Array(10 + 125);
  #heldSize = 0;
  /** Payload of the current data frame still to come, or -1 between frames. */
  #left = -1;
  #fin = false;
  /** The message that continuation frames belong to, or null between messages. */
  #message: { text: boolean } | null = null;

  constructor(listener: FrameListener) {
    this.#listener = listener;
  }

  /** @throws WebSocketError for a frame that a server must not send */
  push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) {
      at = this.#left > 0 ? this.#takePayload(bytes, at) : this.#takeHead(bytes, at);
    }
  }

  #takePayload(bytes: Uint8Array, at: number): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    this.#emit(bytes.subarray(at, end), this.#left === 0);
    return end;
  }

  #emit(piece: Uint8Array, frameEnds: boolean): void {
    const last = frameEnds && this.#fin;
    const { text } = this.#message!;
    if (frameEnds) this.#left = -1;
    if (last) this.#message = null;
    this.#listener.onPiece(piece, text, last);
  }

  #takeHead(bytes: Uint8Array, at: number): number {
    const held = this.#held;
    held[this.#heldSize++] = bytes[at++];
    if (this.#heldSize < 2) return at;
    const short = held[1] & 0x7f, headSize = short < 126 ? 2 : short === 126 ? 4 : 10;
    if (this.#heldSize === 2) this.#checkHead(held[0], held[1]);
    if (this.#heldSize < headSize) return at;
    const opcode = (held[0] & 0x0f) as Opcode;
    if (opcode >= Opcode.close) return this.#takeControl(bytes, at, opcode, short);
    this.#heldSize = 0;
    this.#startFrame(opcode, (held[0] & 0x80) !== 0, short < 126 ? short : readLength(held, headSize));
    return at;
  }

  #checkHead(first: number, second: number): void {
    const opcode = first & 0x0f;
    if ((first & 0x70) !== 0) throw new WebSocketError("a frame uses an extension that was not agreed on");
    if ((second & 0x80) !== 0) throw new WebSocketError("a server's frame is masked");
    if ((opcode > 2 && opcode < 8) || opcode > 10) throw new WebSocketError(`opcode ${opcode} is unknown`);
    if (opcode >= 8 && ((first & 0x80) === 0 || (second & 0x7f) > 125)) {
      throw new WebSocketError("a control frame is cut up or too long");
    }
  }

  #startFrame(opcode: Opcode, fin: boolean, length: number): void {
    if ((opcode === Opcode.continuation) !== (this.#message !== null)) {
      throw new WebSocketError("a message started or went on out of turn");
    }
    this.#message ??= { text: opcode === Opcode.text };
    this.#fin = fin;
    this.#left = length;
    if (length === 0) this.#emit(EMPTY, true);
  }

  #takeControl(bytes: Uint8Array, at: number, opcode: Opcode, size: number): number {
    const end = Math.min(bytes.length, at + 2 + size - this.#heldSize);
    this.#held.set(bytes.subarray(at, end), this.#heldSize);
    this.#heldSize += end - at;
    if (this.#heldSize === 2 + size) {
      this.#heldSize = 0;
      this.#listener.onControl(opcode, this.#held.slice(2, 2 + size));
      return end;
    }
    // The rest comes with the next push: takeHead adds its first byte to what is held and comes here again.
    return end;
  }
}

const EMPTY = new Uint8Array(0);

function readLength(head: Uint8Array, headSize: number): number {
  if (headSize === 4) return head[2] << 8 | head[3];
  const length = new DataView(head.buffer).getBigUint64(2);
  if (length > BigInt(Number.MAX_SAFE_INTEGER)) throw new WebSocketError("a frame is too large");
  return Number(length);
}
