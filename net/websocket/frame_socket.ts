import type { Connection } from "../connection/mod.ts";
import {
  CloseCode,
  createClosePayload,
  createFrame,
  frameInPlace,
  type Masking,
  Opcode,
  WebSocketError,
} from "./frames.ts";
import { FrameReader } from "./frame_reader.ts";

/** A connection behind a WebSocket handshake whose messages are one run of bytes. */
export interface FrameSocketOptions {
  /** Its own from here on: it closes it. */
  connection: Connection;
  /** How what is sent is masked; `bare` makes this the server's end. */
  masking: Masking;
  /** What has been read behind the handshake. */
  rest?: Uint8Array;
  /** What the peer is called in reasons: `the server`, `the client`. */
  peer: string;
  /**
   * Takes payload. The payloads of all binary messages, one after the other, are one run of bytes for its owner, and
   * come as they arrive, whether a message is complete or not.
   * @returns the offset behind what was taken; the rest comes again with what follows it, and must not be as much as 128
   * KiB and some
   */
  onPayload(bytes: Uint8Array, start: number, end: number): number;
  /** The peer closed, the connection broke, or what came was no WebSocket. Called once, and not after `close`. */
  onEnd(reason: string): void;
  /** `onPayload` threw. */
  onDefect(error: unknown): void;
}

/** Enough for a heartbeat or a small request: what an idle session holds. */
const SMALL = 2 * 1024;
/** Holds the largest frame of a session and as much again. */
const LARGE = 256 * 1024;
const GROWTH = 4;
/** After so many small reads in a row it holds the small memory again. */
const QUIET_READS = 3;
/** Idle large memory kept for all sockets of this process. */
const MAX_SPARE = 4;
/** What was sent last still gets this long to leave, and the peer to close. */
const GOODBYE_MS = 200;
/** The most that is read, and thrown away, in that time. */
const MAX_GOODBYE_BYTES = 4 * LARGE;

/**
 * Frames that carry nothing (pings, empty messages, ...) a peer may send within {@link IDLE_FRAMES_MS}. Each costs more
 * than its six bytes.
 */
const MAX_IDLE_FRAMES = 1000;
const IDLE_FRAMES_MS = 5000;

const spare: Uint8Array<ArrayBuffer>[] = [];

/**
 * One end of a WebSocket that carries a run of bytes in binary messages: a session. Sends from the memory that it is
 * given, reads into one memory that grows while reads fill it and shrinks when they do not, and answers pings.
 */
export class FrameSocket {
  readonly #options: FrameSocketOptions;
  readonly #connection: Connection;
  readonly #masking: Masking;
  readonly #reader: FrameReader;
  /** Payload that nobody took yet is `[#start, #end)`, what was read and not looked at yet `[#rawStart, #rawEnd)`. */
  #inbox: Uint8Array<ArrayBuffer>;
  #start = 0;
  #end = 0;
  #rawStart = 0;
  #rawEnd = 0;
  /** How much could be read at most. */
  #space = 0;
  #quietReads = 0;
  #writing: Promise<void> | null = null;
  /** Waits for its turn to be written; a newer one takes its place. */
  #pong: Uint8Array | null = null;
  #over = false;
  /** Frames that carried nothing, since {@link #idleSince}. */
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
        onPiece: (_bytes, start, end, text) => this.#onPiece(start, end, text),
        onControl: (opcode, payload) => this.#onControl(opcode, payload),
      },
    });
  }

  /** Begins to read. */
  start(): void {
    if (this.#rawEnd > 0) this.#take();
    this.#readOn();
  }

  /**
   * Sends `buffer[start, end)` as one binary message, changed in place, with its head in the {@link FRAME_SPACE} bytes
   * before. One at a time. It never rejects: a connection that broke tells `onEnd`.
   */
  send(buffer: Uint8Array<ArrayBuffer>, start: number, end: number): Promise<void> {
    const bytes = buffer.subarray(frameInPlace(buffer, start, end, Opcode.binary, true, this.#masking), end);
    return this.#writing === null ? this.#write(bytes) : this.#writing.then(() => this.#write(bytes));
  }

  /** Ends it: what is being sent still leaves, and a close frame behind it. */
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
    keepSpare(this.#inbox);
    this.#inbox = NOTHING;
  }

  // Callbacks made once a socket, not a promise chain a read.
  readonly #onRead = (count: number | null): void => {
    if (count === null) return this.#lose(`${this.#options.peer} closed the connection`);
    if (this.#over) {
      this.#goodbyeBytes += count;
      this.#rawEnd = 0;
      return this.#goodbyeBytes > MAX_GOODBYE_BYTES ? this.#drop() : this.#readOn();
    }
    this.#rawEnd += count;
    this.#take();
    this.#fitInbox(count);
    this.#readOn();
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

  #readOn(): void {
    // Dropped: nobody reads any more.
    if (this.#inbox.length === 0) return;
    const into = this.#rawEnd === 0 ? this.#inbox : this.#inbox.subarray(this.#rawEnd);
    this.#space = into.length;
    this.#connection.read(into).then(this.#onRead, this.#onReadBroken);
  }

  #take(): void {
    try {
      this.#rawStart = this.#reader.push(this.#inbox, this.#rawStart, this.#rawEnd);
    } catch (error) {
      if (error instanceof WebSocketError) {
        return this.#lose(`${this.#options.peer}'s framing is wrong: ${error.message}`);
      }
      this.#options.onDefect(error);
    }
  }

  #onPiece(start: number, end: number, text: boolean): void {
    if (text) throw new WebSocketError("a message is no binary one");
    if (start === end) this.#countIdle();
    // What was left of the piece before goes on here: the head of a frame in between is taken out.
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
    if (now - this.#idleSince < IDLE_FRAMES_MS) throw new WebSocketError("too many frames that carry nothing");
    this.#idleSince = now;
    this.#idleFrames = 0;
  }

  /** Makes room for the next read: `count` is what the last one brought. */
  #fitInbox(count: number): void {
    if (this.#over) return void (this.#rawEnd = 0);
    const isEmpty = this.#start === this.#end && this.#rawStart === this.#rawEnd;
    this.#quietReads = isEmpty && count <= SMALL / 2 ? this.#quietReads + 1 : 0;
    const size = this.#inbox.length;
    if (size > SMALL && this.#quietReads >= QUIET_READS) return this.#moveTo(new Uint8Array(SMALL));
    const isFilled = count === this.#space && size < LARGE;
    if (isFilled) return this.#moveTo(takeSpare(Math.min(size * GROWTH, LARGE)));
    if (isEmpty || size - this.#rawEnd < size / 4) this.#moveTo(this.#inbox);
    if (size - this.#rawEnd < size / 4) this.#moveTo(takeSpare(Math.max(LARGE, size)));
  }

  /** Moves what is there to the beginning of `memory`, which may be the same. */
  #moveTo(memory: Uint8Array<ArrayBuffer>): void {
    const from = this.#inbox, kept = this.#end - this.#start, raw = this.#rawEnd - this.#rawStart;
    if (memory === from) {
      if (kept > 0) from.copyWithin(0, this.#start, this.#end);
      if (raw > 0) from.copyWithin(kept, this.#rawStart, this.#rawEnd);
    } else {
      memory.set(from.subarray(this.#start, this.#end));
      memory.set(from.subarray(this.#rawStart, this.#rawEnd), kept);
      this.#inbox = memory;
      keepSpare(from);
    }
    this.#start = 0;
    this.#end = this.#rawStart = kept;
    this.#rawEnd = kept + raw;
  }
}

const NOTHING = new Uint8Array(0);

function takeSpare(size: number): Uint8Array<ArrayBuffer> {
  return (size === LARGE ? spare.pop() : undefined) ?? new Uint8Array(size);
}

function keepSpare(memory: Uint8Array<ArrayBuffer>): void {
  if (memory.length === LARGE && spare.length < MAX_SPARE) spare.push(memory);
}
