import { setImmediate } from "node:timers";
import { FRAME_HEAD, MAX_HEAD, MAX_PIECE, MAX_REASON } from "./limits.ts";
import { END, FrameType } from "./frames.ts";
import type { HeadWriter, Transport } from "./types.ts";

/**
 * Free bytes before every message, so that a transport can write its own header there without copying. A multiple of
 * four, because masking works by 32-bit words.
 */
export const HEADROOM = 16;

/** Size in bytes at which a message is sent before the event loop iteration ends. */
export const SEND_NOW = 128 * 1024;
/**
 * Frames at which a message is sent. Larger batches leave the receiver idle while they fill, and the sender idle
 * afterwards; smaller ones cost more system calls.
 */
const SEND_NOW_FRAMES = 64;
/**
 * Bodies wait while more bytes than this wait to be sent; heads never wait. One buffer fills while the other is sent,
 * so neither has to grow beyond one message.
 */
const FULL = SEND_NOW;
/** Above this size in bytes, the frames behind a message are bodies and not heads. */
const BULK = 16 * 1024;
const BUFFER_SIZE = HEADROOM + SEND_NOW + FRAME_HEAD + 64 * 1024;
/** Size for a heartbeat or a credit: thousands of idle sessions beat in one iteration, each with a buffer. */
const SMALL_BUFFER = 256;
/** Writers woken in one iteration at most, for two messages with the largest chunks. */
const WOKEN = 4;
/** Idle buffers kept for all sessions in this process. An idle session holds no buffer. */
const MAX_SPARE = 8;
const spare: Uint8Array<ArrayBuffer>[] = [];

/**
 * Collects the frames in one event loop iteration, at most {@link SEND_NOW_FRAMES}, and sends them as one message: one
 * system call for many frames.
 */
export class Outbox {
  /** Receives frames from {@link used} on. Empty while no frame waits. */
  buffer: Uint8Array<ArrayBuffer> = NO_BUFFER;
  used = HEADROOM;
  /** Unacknowledged bytes in streams' frames before bodies wait. */
  mayBeUnderWay = Infinity;
  #underWay = 0;
  /** Messages passed to the transport so far. */
  messages = 0;
  /** Frames in {@link buffer}. */
  #frames = 0;
  #armed = false;
  #sending = false;
  #closed = false;
  /**
   * Writers that wait for room, the oldest first. Writers that have sent few bytes are in their own queue, which goes
   * first.
   */
  readonly #early: (() => void)[] = [];
  readonly #waiting: (() => void)[] = [];
  #isWaking = false;
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Whether bodies should wait, by {@link whenRoom}. */
  get full(): boolean {
    return (this.#sending && this.used > FULL) || this.#underWay > this.mayBeUnderWay;
  }

  /** The peer has received `bytes` more. Returns false if they were never sent. */
  acknowledge(bytes: number): boolean {
    if (bytes > this.#underWay) return false;
    this.#underWay -= bytes;
    this.#wakeSoon();
    return true;
  }

  /** Reserves a frame with a payload up to `payload` bytes. Write it at `used`, then call {@link commit}. */
  reserve(payload: number): void {
    const size = FRAME_HEAD + payload;
    if (this.buffer === NO_BUFFER) this.buffer = takeBuffer(size);
    if (this.used + size <= this.buffer.length) return;
    if (!this.#sending && this.used > HEADROOM && this.buffer.length > SMALL_BUFFER) this.#sendNow();
    if (this.buffer === NO_BUFFER) this.buffer = takeBuffer(size);
    if (this.used + size <= this.buffer.length) return;
    const wanted = Math.max(this.buffer.length * 2, this.used + size);
    const larger = wanted <= BUFFER_SIZE ? takeBuffer(wanted) : new Uint8Array(wanted);
    larger.set(this.buffer.subarray(0, this.used));
    this.buffer = larger;
  }

  /** Completes the frame whose payload was written at `used + FRAME_HEAD`. */
  commit(payload: number, type: FrameType, flags: number, stream: number): void {
    writeFrameHead(this.buffer, this.used, payload, type, flags, stream);
    this.used += FRAME_HEAD + payload;
    if (stream !== 0) this.#underWay += FRAME_HEAD + payload;
    this.#frames++;
    if (!this.#sending) this.#sendSoon();
  }

  /**
   * Resolves when bodies may be written again, at once after {@link close}.
   * @param isEarly for a stream with few bytes so far, which goes before the others
   */
  whenRoom(isEarly: boolean): Promise<void> {
    if (!this.full || this.#closed) return Promise.resolve();
    return new Promise((resolve) => (isEarly ? this.#early : this.#waiting).push(resolve));
  }

  /** Sends the waiting frames now. */
  flush(): void {
    if (!this.#sending && this.used > HEADROOM) this.#sendNow();
  }

  /** Drops the waiting frames and wakes all writers. Later frames are dropped too. */
  close(): void {
    this.#closed = true;
    keepSpare(this.buffer);
    this.buffer = NO_BUFFER;
    this.used = HEADROOM;
    this.#wake();
  }

  /** Writes any frame with the payload `bytes[start, end)`. */
  put(type: FrameType, flags: number, stream: number, bytes: Uint8Array, start: number, end: number): void {
    const size = end - start;
    this.reserve(size);
    copyBytes(bytes, start, end, this.buffer, this.used + FRAME_HEAD);
    this.commit(size, type, flags, stream);
  }

  /**
   * Writes a REQUEST.
   * @returns the head's size
   * @throws RangeError when the head is larger than `MAX_HEAD`; no frame is written then
   */
  putRequest(flags: number, stream: number, head: HeadWriter): number {
    this.reserve(head.headSize);
    const at = this.used + FRAME_HEAD;
    const size = head.writeHead(this.buffer, at) - at;
    if (size > MAX_HEAD || size > head.headSize) throw new RangeError(`a head of ${size} bytes is too large`);
    this.commit(size, FrameType.request, flags, stream);
    return size;
  }

  /** Writes a RESPONSE. */
  putResponse(
    stream: number,
    status: number,
    block: Uint8Array,
    blockStart: number,
    blockEnd: number,
    body: Uint8Array,
    bodyStart: number,
    bodyEnd: number,
    end: boolean,
  ): void {
    const blockSize = blockEnd - blockStart, size = 4 + blockSize + bodyEnd - bodyStart;
    this.reserve(size);
    const at = this.used + FRAME_HEAD;
    writeU16(this.buffer, at, status);
    writeU16(this.buffer, at + 2, blockSize);
    copyBytes(block, blockStart, blockEnd, this.buffer, at + 4);
    copyBytes(body, bodyStart, bodyEnd, this.buffer, at + 4 + blockSize);
    this.commit(size, FrameType.response, end ? END : 0, stream);
  }

  /** Writes a RESET, GOAWAY or NOTICE. */
  putReason(type: FrameType, stream: number, code: number, text: string): void {
    this.reserve(2 + MAX_REASON);
    const at = this.used + FRAME_HEAD;
    writeU16(this.buffer, at, code);
    const { written } = ENCODER.encodeInto(text, this.buffer.subarray(at + 2, at + 2 + MAX_REASON));
    this.commit(2 + written, type, 0, stream);
  }

  /** Writes a CREDIT. */
  putCredit(stream: number, bytes: number): void {
    this.reserve(4);
    writeU32(this.buffer, this.used + FRAME_HEAD, bytes);
    this.commit(4, FrameType.credit, 0, stream);
  }

  readonly #onTurn = (): void => {
    this.#armed = false;
    this.flush();
  };

  #sendSoon(): void {
    if (this.used >= SEND_NOW || this.#frames >= SEND_NOW_FRAMES) return this.#sendNow();
    if (this.#armed) return;
    this.#armed = true;
    setImmediate(this.#onTurn);
  }

  #sendNow(): void {
    const { buffer, used } = this;
    // Release the buffer before the call: a transport that fails may close this outbox while it sends.
    this.buffer = NO_BUFFER;
    this.used = HEADROOM;
    this.#frames = 0;
    if (this.#closed) return keepSpare(buffer);
    this.messages++;
    const sent = this.#transport.send(buffer, HEADROOM, used);
    if (sent === undefined) return keepSpare(buffer);
    this.#sending = true;
    sent.then(() => this.#onSent(buffer));
  }

  #onSent(buffer: Uint8Array<ArrayBuffer>): void {
    this.#sending = false;
    keepSpare(buffer);
    // A message with bodies goes out at once; more heads may follow in this iteration.
    if (this.used > BULK) this.#sendNow();
    else if (this.buffer !== NO_BUFFER) this.#sendSoon();
    this.#wakeSoon();
  }

  /**
   * Wakes about as many writers as there is room for, because waking thousands for each message takes longer than
   * sending it.
   */
  readonly #wake = (): void => {
    this.#isWaking = false;
    if (this.full && !this.#closed) return;
    const count = this.#closed ? this.#early.length + this.#waiting.length : this.#countRoom();
    for (const resolve of this.#early.splice(0, count)) resolve();
    for (const resolve of this.#waiting.splice(0, count)) resolve();
    if (this.#early.length + this.#waiting.length === 0) return;
    // Woken writers may have few bytes left, or none.
    this.#isWaking = true;
    setImmediate(this.#wake);
  };

  /** Returns the number of writers that have room. A woken writer without room joins its queue's end. */
  #countRoom(): number {
    return Math.min(WOKEN, Math.max(1, Math.ceil((this.mayBeUnderWay - this.#underWay) / MAX_PIECE)));
  }

  #wakeSoon(): void {
    if (!this.#isWaking) this.#wake();
  }
}

const NO_BUFFER = new Uint8Array(0);

/** Returns a buffer for a message whose first frame has `size` bytes. */
function takeBuffer(size: number): Uint8Array<ArrayBuffer> {
  if (HEADROOM + size <= SMALL_BUFFER) return new Uint8Array(SMALL_BUFFER);
  return spare.pop() ?? new Uint8Array(BUFFER_SIZE);
}

function keepSpare(buffer: Uint8Array<ArrayBuffer>): void {
  if (buffer.length === BUFFER_SIZE && spare.length < MAX_SPARE) spare.push(buffer);
}

const ENCODER = new TextEncoder();

/** Below this size in bytes a loop is faster than a view. */
const SHORT = 64;

/** Copies `from[start, end)` to `to[at, ...)`. */
export function copyBytes(from: Uint8Array, start: number, end: number, to: Uint8Array, at: number): void {
  if (end - start < SHORT) { for (let i = start; i < end; i++) to[at++] = from[i]; }
  else to.set(from.subarray(start, end), at);
}

/** Writes a frame's head at `at`, where `FRAME_HEAD` bytes must be free. */
export function writeFrameHead(
  buffer: Uint8Array,
  at: number,
  length: number,
  type: FrameType,
  flags: number,
  stream: number,
): void {
  writeU32(buffer, at, length);
  buffer[at + 4] = type;
  buffer[at + 5] = flags;
  writeU32(buffer, at + 6, stream);
}

/** Reads an unsigned 32-bit number, big-endian. */
export function readU32(buffer: Uint8Array, at: number): number {
  return (buffer[at] << 24 | buffer[at + 1] << 16 | buffer[at + 2] << 8 | buffer[at + 3]) >>> 0;
}

/** Reads an unsigned 16-bit number, big-endian. */
export function readU16(buffer: Uint8Array, at: number): number {
  return buffer[at] << 8 | buffer[at + 1];
}

/** Writes an unsigned 32-bit number, big-endian; four bytes must be free at `at`. */
export function writeU32(buffer: Uint8Array, at: number, value: number): void {
  buffer[at] = value >>> 24;
  buffer[at + 1] = value >>> 16;
  buffer[at + 2] = value >>> 8;
  buffer[at + 3] = value;
}

/** Writes an unsigned 16-bit number, big-endian; two bytes must be free at `at`. Higher bits are dropped. */
export function writeU16(buffer: Uint8Array, at: number, value: number): void {
  buffer[at] = value >>> 8;
  buffer[at + 1] = value;
}
