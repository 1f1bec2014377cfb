import type { Connection } from "../connection/mod.ts";
import {
  CloseCode,
  createClosePayload,
  createFrame,
  frameInPlace,
  FrameReader,
  type Masking,
  Opcode,
  WebSocketError,
} from "./frames.ts";

/** Options of a {@link FrameSocket}. */
export interface FrameSocketOptions {
  /** The connection after its handshake. The socket closes it. */
  connection: Connection;
  /** The mask for sent frames. `bare` makes this the server's end. */
  masking: Masking;
  /** Bytes that were read after the handshake. */
  rest?: Uint8Array;
  /** The peer's name in reasons: `the server`, `the client`. */
  peer: string;
  /**
   * Receives payload as it arrives. All binary messages together are one byte stream; their bounds have no meaning.
   * @returns the offset after the processed bytes. The rest, which must be smaller than 128 KiB, is passed again with the
   * bytes that follow.
   */
  onPayload(bytes: Uint8Array, start: number, end: number): number;
  /** Reports that the peer closed, the connection broke, or a frame was invalid. Called once, and not after `close`. */
  onEnd(reason: string): void;
  /** Reports an error that `onPayload` threw. */
  onDefect(error: unknown): void;
}

/** The buffer of an idle session: enough for a heartbeat or a small request. */
const SMALL = 2 * 1024;
/** The largest buffer: twice the largest session frame. */
const LARGE = 256 * 1024;
const GROWTH = 4;
/** Consecutive small reads until the buffer becomes small again. */
const QUIET_READS = 3;
/** Large buffers that all sockets of this process keep for reuse. */
const MAX_SPARE = 4;
/** The time after `close` for the last bytes to leave and for the peer to close. */
const GOODBYE_MS = 200;
/** Bytes that are read and dropped in that time at most. */
const MAX_GOODBYE_BYTES = 4 * LARGE;

/**
 * Frames without payload, such as pings and empty messages, that a peer may send within {@link IDLE_FRAMES_MS}. Each
 * costs more than its six bytes.
 */
const MAX_IDLE_FRAMES = 1000;
const IDLE_FRAMES_MS = 5000;

const spare: Uint8Array<ArrayBuffer>[] = [];

/**
 * One end of a WebSocket that carries a byte stream in binary messages: a session. It sends from the caller's buffer,
 * reads into a buffer that grows while reads fill it and shrinks afterwards, and responds to pings.
 */
export class FrameSocket {
  readonly #options: FrameSocketOptions;
  readonly #connection: Connection;
  readonly #masking: Masking;
  readonly #reader: FrameReader;
  /** Unprocessed payload is in `[#start, #end)`, unread frames are in `[#rawStart, #rawEnd)`. */
  #inbox: Uint8Array<ArrayBuffer>;
  #start = 0;
  #end = 0;
  #rawStart = 0;
  #rawEnd = 0;
  /** Size of the current read. */
  #space = 0;
  #quietReads = 0;
  #writing: Promise<void> | null = null;
  /** A pong that waits for the current write. A newer pong replaces it. */
  #pong: Uint8Array | null = null;
  #over = false;
  /** Frames without payload since {@link #idleSince}. */
  #idleFrames = 0;
  #idleSince = -Infinity;
  #goodbye: ReturnType<typeof setTimeout> | undefined;
  #goodbyeBytes = 0;

  constructor(options: FrameSocketOptions) {
    const { rest = NOTHING, connection, masking } = options;
    this.#options = options;
    this.#connection = connection;
    this.#masking = masking;
    this.#inbox = new Uint8Array(Math.max(SMALL, rest.length * 2));
    this.#inbox.set(rest);
    this.#rawEnd = rest.length;
    this.#reader = new FrameReader({
      masked: masking === "bare",
      listener: {
        onData: (_bytes, start, end, text) => this.#onData(start, end, text),
        onControl: (opcode, payload) => this.#onControl(opcode, payload),
      },
    });
  }

  /** Starts reading. */
  start(): void {
    if (this.#rawEnd > 0) this.#process();
    this.#readMore();
  }

  /**
   * Sends `buffer[start, end)` as one binary message. Masks it in place and writes the head into the {@link FRAME_SPACE}
   * bytes before. The caller waits for each call. Never rejects: `onEnd` reports a broken connection.
   */
  send(buffer: Uint8Array<ArrayBuffer>, start: number, end: number): Promise<void> {
    const bytes = buffer.subarray(frameInPlace(buffer, start, end, Opcode.binary, true, this.#masking), end);
    return this.#writing === null ? this.#write(bytes) : this.#writing.then(() => this.#write(bytes));
  }

  /** Closes the socket after the current write and a close frame. */
  close(): void {
    if (this.#over) return;
    this.#over = true;
    this.#reader.stop();
    this.#goodbye = setTimeout(() => this.#connection.close(), GOODBYE_MS);
    const goodbye = createFrame(Opcode.close, createClosePayload(CloseCode.normal, ""), this.#masking);
    (this.#writing ?? Promise.resolve()).then(() => this.#write(goodbye)).then(() => this.#connection.closeWrite());
  }

  #lose(reason: string): void {
    this.#drop();
    if (this.#over) return;
    this.#over = true;
    this.#reader.stop();
    this.#options.onEnd(reason);
  }

  #drop(): void {
    clearTimeout(this.#goodbye);
    this.#connection.close();
    releaseSpare(this.#inbox);
    this.#inbox = NOTHING;
  }

  // One callback for each socket costs less than a promise chain for each read.
  readonly #onRead = (count: number | null): void => {
    if (count === null) return this.#lose(`${this.#options.peer} closed the connection`);
    if (this.#over) {
      this.#goodbyeBytes += count;
      this.#rawEnd = 0;
      return this.#goodbyeBytes > MAX_GOODBYE_BYTES ? this.#drop() : this.#readMore();
    }
    this.#rawEnd += count;
    this.#process();
    this.#fitInbox(count);
    this.#readMore();
  };

  readonly #onReadBroken = (error: unknown): void => {
    this.#lose(error instanceof Error ? error.message : this.#describeBreak());
  };

  readonly #onWritten = (): Promise<void> | void => {
    this.#writing = null;
    const pong = this.#pong;
    this.#pong = null;
    if (pong !== null) return this.#write(pong);
  };

  readonly #onWriteBroken = (): void => {
    this.#writing = null;
    this.#lose(this.#describeBreak());
  };

  #describeBreak(): string {
    return `the connection to ${this.#options.peer} broke`;
  }

  #write(bytes: Uint8Array): Promise<void> {
    this.#writing = this.#connection.write(bytes).then(this.#onWritten, this.#onWriteBroken);
    return this.#writing;
  }

  #readMore(): void {
    // After drop no read follows.
    if (this.#inbox.length === 0) return;
    const into = this.#rawEnd === 0 ? this.#inbox : this.#inbox.subarray(this.#rawEnd);
    this.#space = into.length;
    this.#connection.read(into).then(this.#onRead, this.#onReadBroken);
  }

  #process(): void {
    try {
      this.#rawStart = this.#reader.push(this.#inbox, this.#rawStart, this.#rawEnd);
    } catch (error) {
      if (error instanceof WebSocketError) {
        return this.#lose(`${this.#options.peer}'s framing is invalid: ${error.message}`);
      }
      this.#options.onDefect(error);
    }
  }

  #onData(start: number, end: number, text: boolean): void {
    if (text) throw new WebSocketError("a message is not binary");
    if (start === end) this.#countIdle();
    // The rest of the payload before continues here: moving these bytes removes the frame head between both.
    if (this.#start === this.#end) this.#start = start;
    else if (this.#end !== start) this.#inbox.copyWithin(this.#end, start, end);
    this.#end = this.#start === start ? end : this.#end + end - start;
    this.#start = this.#options.onPayload(this.#inbox, this.#start, this.#end);
  }

  #onControl(opcode: Opcode, payload: Uint8Array): void {
    if (opcode === Opcode.close) return this.#lose(`${this.#options.peer} closed the connection`);
    this.#countIdle();
    if (opcode !== Opcode.ping) return;
    const pong = createFrame(Opcode.pong, payload, this.#masking);
    if (this.#writing !== null) this.#pong = pong;
    else void this.#write(pong);
  }

  #countIdle(): void {
    if (++this.#idleFrames < MAX_IDLE_FRAMES) return;
    const now = performance.now();
    if (now - this.#idleSince < IDLE_FRAMES_MS) throw new WebSocketError("too many frames without payload");
    this.#idleSince = now;
    this.#idleFrames = 0;
  }

  /** Makes room for the next read. @param count bytes of the last read */
  #fitInbox(count: number): void {
    if (this.#over) return void (this.#rawEnd = 0);
    const isEmpty = this.#start === this.#end && this.#rawStart === this.#rawEnd;
    this.#quietReads = isEmpty && count <= SMALL / 2 ? this.#quietReads + 1 : 0;
    const size = this.#inbox.length;
    if (size > SMALL && this.#quietReads >= QUIET_READS) return this.#moveTo(new Uint8Array(SMALL));
    const isFilled = count === this.#space && size < LARGE;
    if (isFilled) return this.#moveTo(acquireSpare(Math.min(size * GROWTH, LARGE)));
    if (isEmpty || size - this.#rawEnd < size / 4) this.#moveTo(this.#inbox);
    if (size - this.#rawEnd < size / 4) this.#moveTo(acquireSpare(Math.max(LARGE, size)));
  }

  /** Moves all bytes to the beginning of `buffer`, which may be the current one. */
  #moveTo(buffer: Uint8Array<ArrayBuffer>): void {
    const from = this.#inbox, kept = this.#end - this.#start, raw = this.#rawEnd - this.#rawStart;
    if (buffer === from) {
      if (kept > 0) from.copyWithin(0, this.#start, this.#end);
      if (raw > 0) from.copyWithin(kept, this.#rawStart, this.#rawEnd);
    } else {
      buffer.set(from.subarray(this.#start, this.#end));
      buffer.set(from.subarray(this.#rawStart, this.#rawEnd), kept);
      this.#inbox = buffer;
      releaseSpare(from);
    }
    this.#start = 0;
    this.#end = this.#rawStart = kept;
    this.#rawEnd = kept + raw;
  }
}

const NOTHING = new Uint8Array(0);

function acquireSpare(size: number): Uint8Array<ArrayBuffer> {
  return (size === LARGE ? spare.pop() : undefined) ?? new Uint8Array(size);
}

function releaseSpare(buffer: Uint8Array<ArrayBuffer>): void {
  if (buffer.length === LARGE && spare.length < MAX_SPARE) spare.push(buffer);
}
