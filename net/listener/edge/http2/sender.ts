import { acquireBuffer, LARGE, releaseBuffer, SMALL } from "../../../../common/buffers/buffer_pool.ts";
import type { Connection } from "../../../connection/mod.ts";
import { FIRST_WINDOW, Flag, FRAME_HEAD, FrameType, MAX_FRAME, writeFrameHead, writeU32 } from "./frames.ts";

/** Frames other than DATA that may wait to be written before nothing more is read, in bytes. */
const MAX_WAITING = 16 * 1024;

/** One stream's body on its way out. */
export class Outgoing {
  readonly id: number;
  /** Bytes that the visitor takes of it. May be below 0 (RFC 9113, section 6.9.2). */
  window: number;
  /** Told when the last frame has been handed to the connection. */
  readonly onEnded: () => void;
  /** What is to go: `bytes[at]` and on. */
  bytes: Uint8Array = NOTHING;
  at = 0;
  /** Resolves the write that brought it. */
  written: (() => void) | null = null;
  /** The body ends behind it. */
  ends = false;
  /** A field block that follows the body. */
  trailers: Uint8Array = NOTHING;
  /** In the sender's queue. */
  isQueued = false;
  isOver = false;
  /** Seconds for which nothing of what waits could go; counted by who asks once a second. */
  waited = 0;

  constructor(id: number, window: number, onEnded: () => void) {
    this.id = id;
    this.window = window;
    this.onEnded = onEnded;
  }

  get left(): number {
    return this.bytes.length - this.at;
  }
}

/**
 * Writes the frames of one connection: DATA as the windows of its streams and its own allow, one frame of each in turn, and
 * all else ahead of it. Frames of a turn leave in one write.
 */
export class Sender {
  /** What a new stream may be sent, by the visitor's SETTINGS. */
  initialWindow: number = FIRST_WINDOW;
  /** Bytes of DATA that the visitor takes of the connection. */
  window: number = FIRST_WINDOW;
  readonly #connection: Connection;
  readonly #onBroken: () => void;
  /** Frames to be written: `#memory[0, #used)`. */
  #memory: Uint8Array<ArrayBuffer> = NOTHING;
  #used = 0;
  /** Those with something to send, and a window for it. */
  #queue: Outgoing[] = [];
  /** Writes whose last bytes are in {@link #memory}. */
  #copied: (() => void)[] = [];
  #isRunning = false;
  #isOver = false;
  #calm: (() => void) | null = null;
  #drained: (() => void)[] = [];
  /** Seconds for which a write has been under way; counted by who asks. */
  #waited = 0;

  /** @param onBroken told when the visitor cannot be written to */
  constructor(connection: Connection, onBroken: () => void) {
    this.#connection = connection;
    this.#onBroken = onBroken;
  }

  /** Resolves once little waits: whoever sends what must be answered, and takes no answers, is not read on. */
  async whenCalm(): Promise<void> {
    while (this.#used > MAX_WAITING && !this.#isOver) await new Promise<void>((resolve) => this.#calm = resolve);
  }

  /** Resolves when all that could be sent has been written, or nothing more can be. */
  whenDrained(): Promise<void> {
    if (!this.#isRunning || this.#isOver) return Promise.resolve();
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  /** Asked once a second: for how many seconds one write has been under way. */
  countStall(): number {
    return this.#isRunning ? ++this.#waited : 0;
  }

  /** Sends a frame other than DATA and of a field block. */
  putFrame(type: number, flags: number, stream: number, payload: Uint8Array = NOTHING): void {
    if (this.#isOver) return;
    this.#reserve(FRAME_HEAD + payload.length);
    const at = writeFrameHead(this.#memory, this.#used, payload.length, type, flags, stream);
    this.#memory.set(payload, at);
    this.#used = at + payload.length;
    this.#runSoon();
  }

  /** Sends a frame of four bytes: RST_STREAM or WINDOW_UPDATE. */
  putNumber(type: number, stream: number, value: number): void {
    if (this.#isOver) return;
    this.#reserve(FRAME_HEAD + 4);
    this.#used = writeU32(this.#memory, writeFrameHead(this.#memory, this.#used, 4, type, 0, stream), value);
    this.#runSoon();
  }

  /** Sends a field block, in as many frames as it takes. */
  putBlock(stream: number, block: Uint8Array, endStream: boolean): void {
    let type: number = FrameType.headers, flags: number = endStream ? Flag.endStream : 0;
    for (let at = 0; at < block.length || at === 0;) {
      const end = Math.min(block.length, at + MAX_FRAME);
      if (end === block.length) flags |= Flag.endHeaders;
      this.putFrame(type, flags, stream, block.subarray(at, end));
      type = FrameType.continuation;
      flags = 0;
      at = end;
    }
  }

  /** Something of a stream may have become ready to go. */
  wake(stream: Outgoing): void {
    const isReady = stream.left > 0 ? stream.window > 0 : stream.ends;
    if (stream.isQueued || stream.isOver || !isReady) return;
    stream.isQueued = true;
    this.#queue.push(stream);
    this.#runSoon();
  }

  /** The connection's window has grown. */
  wakeAll(): void {
    if (this.#queue.length > 0) this.#runSoon();
  }

  /** Nothing more of a stream is sent. */
  drop(stream: Outgoing): void {
    stream.isOver = true;
    stream.bytes = NOTHING;
    stream.at = 0;
    const { written } = stream;
    stream.written = null;
    written?.();
  }

  /** Nothing more is sent at all. */
  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const stream of this.#queue) this.drop(stream);
    this.#queue = [];
    if (!this.#isRunning) this.#release();
    this.#settle();
  }

  #reserve(bytes: number): void {
    const { length } = this.#memory;
    if (length - this.#used >= bytes) return;
    const larger = acquireBuffer(Math.max(SMALL, this.#used + bytes, Math.min(2 * length, LARGE)));
    larger.set(this.#memory.subarray(0, this.#used));
    if (length > 0) releaseBuffer(this.#memory);
    this.#memory = larger;
  }

  #runSoon(): void {
    if (this.#isRunning || this.#isOver) return;
    this.#isRunning = true;
    this.#waited = 0;
    queueMicrotask(this.#run);
  }

  readonly #run = async (): Promise<void> => {
    try {
      for (;;) {
        this.#fill();
        if (this.#used === 0 || this.#isOver) break;
        const memory = this.#memory, used = this.#used, copied = this.#copied;
        this.#memory = NOTHING;
        this.#used = 0;
        this.#copied = [];
        this.#waited = 0;
        try {
          await this.#connection.write(memory.subarray(0, used));
        } finally {
          releaseBuffer(memory);
          for (const written of copied) written();
        }
        this.#calmDown();
      }
    } catch {
      this.close();
      this.#onBroken();
    } finally {
      this.#isRunning = false;
      this.#settle();
    }
  };

  /** Adds frames of DATA until the message is as long as it may be, or nobody has more that may go. */
  #fill(): void {
    const queue = this.#queue;
    let looked = 0;
    while (looked < queue.length && this.#used < LARGE - FRAME_HEAD) {
      const stream = queue[looked];
      if (stream.isOver || !this.#putData(stream)) {
        // It has no more, or nobody takes it: whoever has more to say, or a larger window, comes again.
        stream.isQueued = false;
        queue.splice(looked, 1);
      } else if (this.window <= 0 && stream.left > 0) looked++;
      else {
        queue.splice(looked, 1);
        queue.push(stream);
      }
    }
  }

  /** Sends a frame of a stream, if it may. Says whether there is more that may go but for the connection's window. */
  #putData(stream: Outgoing): boolean {
    const { left } = stream;
    const room = Math.min(stream.window, this.window, MAX_FRAME);
    const size = Math.max(0, Math.min(left, room, LARGE - FRAME_HEAD - this.#used));
    if (size === 0 && left > 0) return stream.window > 0;
    const isLast = stream.ends && size === left, hasTrailers = stream.trailers.length > 0;
    this.#putPiece(stream, size, isLast && !hasTrailers);
    if (isLast && hasTrailers) this.putBlock(stream.id, stream.trailers, true);
    if (size === left) this.#finishPiece(stream);
    if (isLast) {
      stream.isOver = true;
      stream.onEnded();
    }
    return !isLast && stream.left > 0 && stream.window > 0;
  }

  #putPiece(stream: Outgoing, size: number, endStream: boolean): void {
    if (size === 0 && !endStream) return;
    this.#reserve(FRAME_HEAD + size);
    const flags = endStream ? Flag.endStream : 0;
    const at = writeFrameHead(this.#memory, this.#used, size, FrameType.data, flags, stream.id);
    this.#memory.set(stream.bytes.subarray(stream.at, stream.at + size), at);
    this.#used = at + size;
    stream.at += size;
    stream.window -= size;
    this.window -= size;
    stream.waited = 0;
  }

  #finishPiece(stream: Outgoing): void {
    stream.bytes = NOTHING;
    stream.at = 0;
    if (stream.written !== null) this.#copied.push(stream.written);
    stream.written = null;
  }

  #calmDown(): void {
    const calm = this.#calm;
    this.#calm = null;
    calm?.();
  }

  #settle(): void {
    this.#calmDown();
    if (this.#isOver) this.#release();
    const drained = this.#drained;
    this.#drained = [];
    for (const resolve of drained) resolve();
  }

  #release(): void {
    if (this.#memory.length > 0) releaseBuffer(this.#memory);
    this.#memory = NOTHING;
    this.#used = 0;
    const copied = this.#copied;
    this.#copied = [];
    for (const written of copied) written();
  }
}

const NOTHING = new Uint8Array(0);
