import { applyMask, CloseCode, MAX_CONTROL, Opcode, WebSocketError } from "./frames.ts";

/** What a reader finds. */
export interface FrameListener {
  /**
   * A piece of a message, as much of it as is there: `bytes[start, end)`, unmasked.
   * @param last whether the message ends with it
   */
  onPiece(bytes: Uint8Array<ArrayBuffer>, start: number, end: number, text: boolean, last: boolean): void;
  /** A close, ping or pong, with a payload that is part of the bytes given. */
  onControl(opcode: Opcode, payload: Uint8Array<ArrayBuffer>): void;
}

/** Whose frames are read, and who is told of them. */
export interface FrameReaderOptions {
  /** Whether the peer is a client, whose frames are masked; a server's are not. */
  masked: boolean;
  /** The largest message in bytes; it counts from the head of its first frame on. None when left out. */
  maxMessageBytes?: number;
  listener: FrameListener;
}

const FIN = 0x80;
const MASKED = 0x80;

/** Reads frames of RFC 6455 where they lie, and keeps nothing of them: their payload is handed on as it comes. */
export class FrameReader {
  readonly #listener: FrameListener;
  readonly #masked: boolean;
  readonly #maxMessage: number;
  /** Payload of the current data frame still to come. */
  #left = 0;
  /** How much of it has come. */
  #taken = 0;
  #fin = true;
  /** Whether frames go on with a message, and whether that is text. */
  #inMessage = false;
  #text = false;
  /** Bytes of the message in the frames so far, the current one whole. */
  #size = 0;
  readonly #key = new Uint8Array(4);
  #isKeyZero = true;
  #stopped = false;

  constructor({ listener, masked, maxMessageBytes = Number.MAX_SAFE_INTEGER }: FrameReaderOptions) {
    this.#listener = listener;
    this.#masked = masked;
    this.#maxMessage = maxMessageBytes;
  }

  /** Reads no further, also not what the call under way was given. */
  stop(): void {
    this.#stopped = true;
  }

  /**
   * Takes what it can of `bytes[start, end)`, and unmasks it in place.
   * @returns the offset behind what was taken: the rest, a frame's head or a control frame that is not whole, comes again
   * with what follows it
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
    this.#listener.onPiece(bytes, start, end, this.#text, last);
  }

  /** Returns `at` when the head is not whole. */
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
    if ((first & 0x70) !== 0) throw new WebSocketError("a frame uses an extension that was not agreed on");
    if (((second & MASKED) !== 0) !== this.#masked) {
      throw new WebSocketError(this.#masked ? "a client's frame is not masked" : "a server's frame is masked");
    }
    if ((opcode > Opcode.binary && opcode < Opcode.close) || opcode > Opcode.pong) {
      throw new WebSocketError(`opcode ${opcode} is unknown`);
    }
    if (opcode >= Opcode.close && ((first & FIN) === 0 || (second & 0x7f) > MAX_CONTROL)) {
      throw new WebSocketError("a control frame is cut up or too long");
    }
  }

  #startFrame(opcode: Opcode, fin: boolean, length: number): void {
    if ((opcode === Opcode.continuation) !== this.#inMessage) {
      throw new WebSocketError("a message started or went on out of turn");
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
