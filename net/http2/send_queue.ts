import { acquireBuffer, LARGE, releaseBuffer, SMALL } from "../../common/buffers/buffer_pool.ts";
import { FIRST_WINDOW, Flag, FRAME_HEAD, FrameType, MAX_FRAME, writeFrameHead, writeU32 } from "./frames.ts";
import type { Stream } from "./stream.ts";

/** Control frames that may wait before the driver stops reading, in bytes. */
const MAX_WAITING = 16 * 1024;
const NOTHING = new Uint8Array(0);

/** The signals that a send queue gives. */
export interface SendQueueOptions {
  /** Called when frames wait to be written. */
  onReady(): void;
  /** Called when a stream's last frame was queued. */
  onStreamEnd(stream: Stream): void;
}

/**
 * Collects frames into writes. DATA follows the windows, one frame from each stream in turn; control frames precede it. The
 * driver calls {@link take}, writes the bytes and calls {@link wrote}.
 */
export class SendQueue {
  /** The first window for each new stream, from the client's SETTINGS. */
  initialWindow: number = FIRST_WINDOW;
  /** DATA bytes that the client accepts on the connection. */
  window: number = FIRST_WINDOW;
  readonly #options: SendQueueOptions;
  /** Frames that wait: `#buffer[0, #used)`. */
  #buffer: Uint8Array<ArrayBuffer> = NOTHING;
  #used = 0;
  /** The buffer that the driver writes now. */
  #taken: Uint8Array<ArrayBuffer> = NOTHING;
  /** Streams that have bytes and a window for them. */
  #queue: Stream[] = [];
  /** Callbacks for finished writes: in {@link #buffer}, and in {@link #taken}. */
  #copied: (() => void)[] = [];
  #copiedTaken: (() => void)[] = [];
  #isClosed = false;

  constructor(options: SendQueueOptions) {
    this.#options = options;
  }

  /** Whether the client sends frames that need responses and does not read these. */
  get isFull(): boolean {
    return this.#used > MAX_WAITING && !this.#isClosed;
  }

  /** Queues a frame other than DATA or a field block. */
  putFrame(type: number, flags: number, stream: number, payload: Uint8Array = NOTHING): void {
    if (this.#isClosed) return;
    this.#reserve(FRAME_HEAD + payload.length);
    const at = writeFrameHead(this.#buffer, this.#used, payload.length, type, flags, stream);
    this.#buffer.set(payload, at);
    this.#used = at + payload.length;
    this.#options.onReady();
  }

  /** Queues a frame of four bytes: RST_STREAM or WINDOW_UPDATE. */
  putNumber(type: number, stream: number, value: number): void {
    if (this.#isClosed) return;
    this.#reserve(FRAME_HEAD + 4);
    this.#used = writeU32(this.#buffer, writeFrameHead(this.#buffer, this.#used, 4, type, 0, stream), value);
    this.#options.onReady();
  }

  /** Queues a field block as HEADERS and, if it is long, CONTINUATION frames. */
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

  /** Queues a stream if it has bytes and a window for them. */
  wake(stream: Stream): void {
    const isReady = stream.left > 0 ? stream.window > 0 : stream.ends;
    if (stream.isQueued || !isReady || !stream.canSend) return;
    stream.isQueued = true;
    this.#queue.push(stream);
    this.#options.onReady();
  }

  /** Continues with queued streams after the connection's window has grown. */
  wakeAll(): void {
    if (this.#queue.length > 0) this.#options.onReady();
  }

  /** Drops the unsent bytes of a stream and resolves its write. */
  drop(stream: Stream): void {
    stream.bytes = NOTHING;
    stream.at = 0;
    const { written } = stream;
    stream.written = null;
    written?.();
  }

  /** Returns the bytes of the next write, or null when no frame may be sent now. */
  take(): Uint8Array | null {
    if (this.#isClosed) return null;
    this.#fill();
    if (this.#used === 0) return null;
    this.#taken = this.#buffer;
    const bytes = this.#taken.subarray(0, this.#used);
    this.#copiedTaken = this.#copied;
    this.#buffer = NOTHING;
    this.#used = 0;
    this.#copied = [];
    return bytes;
  }

  /** Ends the write of the taken bytes, whether it succeeded or not. */
  wrote(): void {
    releaseBuffer(this.#taken);
    this.#taken = NOTHING;
    const copied = this.#copiedTaken;
    this.#copiedTaken = [];
    for (const written of copied) written();
  }

  /** Drops all frames. Streams are dropped by the session. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#queue = [];
    if (this.#buffer.length > 0) releaseBuffer(this.#buffer);
    this.#buffer = NOTHING;
    this.#used = 0;
    const copied = this.#copied;
    this.#copied = [];
    for (const written of copied) written();
  }

  #reserve(bytes: number): void {
    const { length } = this.#buffer;
    if (length - this.#used >= bytes) return;
    const larger = acquireBuffer(Math.max(SMALL, this.#used + bytes, Math.min(2 * length, LARGE)));
    larger.set(this.#buffer.subarray(0, this.#used));
    if (length > 0) releaseBuffer(this.#buffer);
    this.#buffer = larger;
  }

  /** Adds DATA frames until the write is long enough or no stream may send. */
  #fill(): void {
    const queue = this.#queue;
    let index = 0;
    while (index < queue.length && this.#used < LARGE - FRAME_HEAD) {
      const stream = queue[index];
      if (!stream.canSend || !this.#putData(stream)) {
        // More bytes or a larger window queue the stream again.
        stream.isQueued = false;
        queue.splice(index, 1);
      } else if (this.window <= 0 && stream.left > 0) index++;
      else {
        queue.splice(index, 1);
        queue.push(stream);
      }
    }
  }

  /** Adds a DATA frame if the windows permit. Returns whether more could follow, apart from the connection's window. */
  #putData(stream: Stream): boolean {
    const { left } = stream;
    const room = Math.min(stream.window, this.window, MAX_FRAME);
    const size = Math.max(0, Math.min(left, room, LARGE - FRAME_HEAD - this.#used));
    if (size === 0 && left > 0) return stream.window > 0;
    const isLast = stream.ends && size === left, hasTrailers = stream.trailers.length > 0;
    this.#putChunk(stream, size, isLast && !hasTrailers);
    if (isLast && hasTrailers) this.putBlock(stream.id, stream.trailers, true);
    if (size === left) this.#endChunk(stream);
    if (isLast) this.#options.onStreamEnd(stream);
    return !isLast && stream.left > 0 && stream.window > 0;
  }

  #putChunk(stream: Stream, size: number, endStream: boolean): void {
    if (size === 0 && !endStream) return;
    this.#reserve(FRAME_HEAD + size);
    const flags = endStream ? Flag.endStream : 0;
    const at = writeFrameHead(this.#buffer, this.#used, size, FrameType.data, flags, stream.id);
    this.#buffer.set(stream.bytes.subarray(stream.at, stream.at + size), at);
    this.#used = at + size;
    stream.at += size;
    stream.window -= size;
    this.window -= size;
    stream.waited = 0;
  }

  #endChunk(stream: Stream): void {
    stream.bytes = NOTHING;
    stream.at = 0;
    if (stream.written !== null) this.#copied.push(stream.written);
    stream.written = null;
  }
}
