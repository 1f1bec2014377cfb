import { setImmediate } from "node:timers";
import { FRAME_HEAD, MAX_HEAD, MAX_PIECE, MAX_REASON } from "./limits.ts";
import { END, FrameType } from "./frames.ts";
import type { HeadWriter, Transport } from "./types.ts";

/**
 * Free bytes before every message, so that a transport can put its own head there without copying. A multiple of four,
 * because masking works by 32-bit words.
 */
export const HEADROOM = 16;

/** A message is sent as soon as it holds this much, without waiting for the turn to end. */
export const SEND_NOW = 128 * 1024;
/**
 * Likewise, in frames: with a turn's worth of requests in one message, whoever is to answer them has nothing to do until
 * then, and whoever sent them nothing from then on. Less than that costs more in system calls.
 */
const SEND_NOW_FRAMES = 64;
/**
 * Bodies wait while this much is waiting to be sent; heads never do. Not more than a message, so that one buffer fills
 * while the other is being sent and neither has to grow.
 */
const FULL = SEND_NOW;
/** What waits behind a message, in bytes, is bodies above this. */
const BULK = 16 * 1024;
const BUFFER_SIZE = HEADROOM + SEND_NOW + FRAME_HEAD + 64 * 1024;
/** For a heartbeat or a credit: thousands of idle sessions beat in one turn, and each holds a buffer while it sends. */
const SMALL_BUFFER = 256;
/** Who is woken in one turn at most: two messages' worth of the largest pieces. */
const WOKEN = 4;
/** Idle buffers kept for all sessions of this process: an idle session holds none. */
const MAX_SPARE = 8;
const spare: Uint8Array<ArrayBuffer>[] = [];

/**
 * Collects the frames of one turn of the event loop, or {@link SEND_NOW_FRAMES}, and sends them as one message: one system
 * call for many frames.
 */
export class Outbox {
  /** Frames are written here, from {@link used} on. Empty while nothing waits. */
  buffer: Uint8Array<ArrayBuffer> = NO_BUFFER;
  used = HEADROOM;
  /** What may be under way before bodies wait, in bytes: frames of streams that the peer has not said it has taken in. */
  mayBeUnderWay = Infinity;
  #underWay = 0;
  /** Messages handed to the transport so far. */
  messages = 0;
  /** Frames that wait in {@link buffer}. */
  #frames = 0;
  #armed = false;
  #sending = false;
  #closed = false;
  /** Who waits for room, the longest first; those before who have hardly sent anything yet. */
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

  /** The peer has taken in so many bytes more. Says whether that is possible. */
  acknowledge(bytes: number): boolean {
    if (bytes > this.#underWay) return false;
    this.#underWay -= bytes;
    this.#wakeSoon();
    return true;
  }

  /** Makes room for a frame with a payload of at most `payload` bytes. Write it at `used`, then {@link commit}. */
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

  /** Finishes the frame whose payload was written behind `used + FRAME_HEAD`. */
  commit(payload: number, type: FrameType, flags: number, stream: number): void {
    writeFrameHead(this.buffer, this.used, payload, type, flags, stream);
    this.used += FRAME_HEAD + payload;
    if (stream !== 0) this.#underWay += FRAME_HEAD + payload;
    this.#frames++;
    if (!this.#sending) this.#sendSoon();
  }

  /**
   * Resolves when bodies may be written again, at once after {@link close}.
   * @param isEarly for one of a few bytes so far: it goes before those that have carried much
   */
  whenRoom(isEarly: boolean): Promise<void> {
    if (!this.full || this.#closed) return Promise.resolve();
    return new Promise((resolve) => (isEarly ? this.#early : this.#waiting).push(resolve));
  }

  /** Sends what waits, without waiting for the end of the turn. */
  flush(): void {
    if (!this.#sending && this.used > HEADROOM) this.#sendNow();
  }

  /** Drops what waits and wakes who waits. Later frames go nowhere. */
  close(): void {
    this.#closed = true;
    keepSpare(this.buffer);
    this.buffer = NO_BUFFER;
    this.used = HEADROOM;
    this.#wake();
  }

  /** Any frame. Its payload is `bytes[start, end)`. */
  put(type: FrameType, flags: number, stream: number, bytes: Uint8Array, start: number, end: number): void {
    const size = end - start;
    this.reserve(size);
    copyBytes(bytes, start, end, this.buffer, this.used + FRAME_HEAD);
    this.commit(size, type, flags, stream);
  }

  /**
   * REQUEST.
   * @returns the bytes of the head
   * @throws RangeError when the head is larger than `MAX_HEAD`; nothing is sent then
   */
  putRequest(flags: number, stream: number, head: HeadWriter): number {
    this.reserve(head.headSize);
    const at = this.used + FRAME_HEAD;
    const size = head.writeHead(this.buffer, at) - at;
    if (size > MAX_HEAD || size > head.headSize) throw new RangeError(`a head of ${size} bytes is too large`);
    this.commit(size, FrameType.request, flags, stream);
    return size;
  }

  /** RESPONSE. */
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

  /** RESET or GOAWAY. */
  putReason(type: FrameType, stream: number, code: number, text: string): void {
    this.reserve(2 + MAX_REASON);
    const at = this.used + FRAME_HEAD;
    writeU16(this.buffer, at, code);
    const { written } = ENCODER.encodeInto(text, this.buffer.subarray(at + 2, at + 2 + MAX_REASON));
    this.commit(2 + written, type, 0, stream);
  }

  /** CREDIT. */
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
    // Let go before sending: a transport that fails may close this outbox while it sends, and nothing is kept twice.
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
    // Of bodies the next message goes at once; of heads more may come in this turn.
    if (this.used > BULK) this.#sendNow();
    else if (this.buffer !== NO_BUFFER) this.#sendSoon();
    this.#wakeSoon();
  }

  /** Wakes about as many as there is room for: to wake thousands for each message would take longer than sending it. */
  readonly #wake = (): void => {
    this.#isWaking = false;
    if (this.full && !this.#closed) return;
    const count = this.#closed ? this.#early.length + this.#waiting.length : this.#countRoom();
    for (const resolve of this.#early.splice(0, count)) resolve();
    for (const resolve of this.#waiting.splice(0, count)) resolve();
    if (this.#early.length + this.#waiting.length === 0) return;
    // Those who were woken may have little to send, or nothing any more.
    this.#isWaking = true;
    setImmediate(this.#wake);
  };

  /** How many find room: whoever is woken and finds none goes to the end of the line. */
  #countRoom(): number {
    return Math.min(WOKEN, Math.max(1, Math.ceil((this.mayBeUnderWay - this.#underWay) / MAX_PIECE)));
  }

  #wakeSoon(): void {
    if (!this.#isWaking) this.#wake();
  }
}

const NO_BUFFER = new Uint8Array(0);

/** A buffer for a message that begins with a frame of `size` bytes. */
function takeBuffer(size: number): Uint8Array<ArrayBuffer> {
  if (HEADROOM + size <= SMALL_BUFFER) return new Uint8Array(SMALL_BUFFER);
  return spare.pop() ?? new Uint8Array(BUFFER_SIZE);
}

function keepSpare(buffer: Uint8Array<ArrayBuffer>): void {
  if (buffer.length === BUFFER_SIZE && spare.length < MAX_SPARE) spare.push(buffer);
}

const ENCODER = new TextEncoder();

/** Below this many bytes a loop beats making a view. */
const SHORT = 64;

/** Copies `from[start, end)` to `to[at, ...)`. */
export function copyBytes(from: Uint8Array, start: number, end: number, to: Uint8Array, at: number): void {
  if (end - start < SHORT) { for (let i = start; i < end; i++) to[at++] = from[i]; }
  else to.set(from.subarray(start, end), at);
}

/** Writes a frame's head at `at`; `FRAME_HEAD` bytes must be free there. */
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

/** Unsigned 32 bits, big-endian. */
export function readU32(buffer: Uint8Array, at: number): number {
  return (buffer[at] << 24 | buffer[at + 1] << 16 | buffer[at + 2] << 8 | buffer[at + 3]) >>> 0;
}

/** Unsigned 16 bits, big-endian. */
export function readU16(buffer: Uint8Array, at: number): number {
  return buffer[at] << 8 | buffer[at + 1];
}

/** Writes unsigned 32 bits, big-endian; four bytes must be free at `at`. */
export function writeU32(buffer: Uint8Array, at: number, value: number): void {
  buffer[at] = value >>> 24;
  buffer[at + 1] = value >>> 16;
  buffer[at + 2] = value >>> 8;
  buffer[at + 3] = value;
}

/** Writes unsigned 16 bits, big-endian; two bytes must be free at `at`. Higher bits are dropped. */
export function writeU16(buffer: Uint8Array, at: number, value: number): void {
  buffer[at] = value >>> 8;
  buffer[at + 1] = value;
}
