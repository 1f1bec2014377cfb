import type { ResetReason } from "./reasons.ts";

/** A stream's use, and whether its opener sends bytes after the opening. */
export interface StreamOpening {
  /** `http`: one request and its response. `upgrade`: a request for another protocol. `raw`: bytes without HTTP. */
  readonly kind: "http" | "upgrade" | "raw";
  /** The opener sends no bytes after the opening. */
  readonly end: boolean;
}

/** All openings. */
export const Opening: Readonly<Record<"bodyless" | "withBody" | "upgrade" | "raw", StreamOpening>> = {
  /** An HTTP request without a body. */
  bodyless: { kind: "http", end: true },
  /** An HTTP request whose body follows. */
  withBody: { kind: "http", end: false },
  /** A request for an upgrade: after a 101 both directions carry bytes. */
  upgrade: { kind: "upgrade", end: false },
  /** Both directions carry bytes at once. The opening may hold any bytes, for example an address. */
  raw: { kind: "raw", end: false },
};

/** The status that grants an upgrade. */
export const SWITCHING_PROTOCOLS = 101;

/** A two-way byte channel inside a session. Each direction ends separately and has its own flow control. */
export interface Stream {
  /** The reason for the end, or null while the stream is open. */
  readonly ended: ResetReason | null;
  /** Bytes in heads and bodies so far, both directions. */
  readonly carried: number;
  /** Called once when the stream has ended, for any reason. */
  onFinish: (() => void) | null;
  /** Bytes that {@link send} would take now. */
  readonly room: number;
  /**
   * Waits until {@link room} is above 0. One waiter at a time.
   * @throws StreamEnded when the stream ends first
   */
  whenRoom(): Promise<void>;
  /**
   * Copies as many bytes from `bytes[start, end)` as fit into {@link room} and sends them.
   * @param last whether this direction ends with them; the direction ends only if all bytes fit
   * @returns the offset after the sent bytes: `start` if there is no room or the stream has ended
   */
  send(bytes: Uint8Array, start: number, end: number, last?: boolean): number;
  /**
   * Sends all bytes, as fast as the peer takes them. They are copied when it resolves.
   * @param end whether this direction ends with them
   * @throws StreamEnded when the stream ends first
   */
  write(bytes: Uint8Array, end?: boolean): Promise<void>;
  /** Ends this direction. No effect if it has ended. */
  end(): void;
  /** Reports that received bytes were passed on, which lets the peer send as many again. */
  consumed(bytes: number): void;
  /** Ends both directions and notifies the peer. After the end it drops received bytes that were not passed on. */
  reset(reason: ResetReason, text?: string): void;
}

/** A stream that carries one HTTP request and its response. */
export interface RequestStream extends Stream {
  /** The final response's status; 0 before it. */
  readonly status: number;
  /** The text in the reset that ended the stream, from either side; empty otherwise. */
  readonly resetText: string;
  /** Called when {@link respond} grants an upgrade. */
  onUpgrade: (() => void) | null;
  /**
   * Sends an interim response, at most `MAX_INTERIM` times and before {@link respond}. Client only. No effect if the
   * stream has ended.
   * @param block reason phrase, CRLF, field lines: `block[start, end)`, at most `MAX_SMALL_BLOCK` bytes
   */
  inform(status: number, block: Uint8Array, start: number, end: number): void;
  /**
   * Sends the response's head and its first body bytes in one frame. Client only. No effect if the stream has ended.
   * The body must fit {@link room}; wait for {@link whenRoom} while that is 0. If the response to an upgrade request is
   * not 101, the relay sends no more bytes.
   * @param block reason phrase, CRLF, field lines: `block[blockStart, blockEnd)`; likewise the body
   * @param end whether the body is complete with this
   */
  respond(
    status: number,
    block: Uint8Array,
    blockStart: number,
    blockEnd: number,
    body: Uint8Array,
    bodyStart: number,
    bodyEnd: number,
    end: boolean,
  ): void;
  /** Whether {@link respond} may send `bytes` body bytes at once: small bodies do not wait for large ones. */
  mayRespond(bytes: number): boolean;
  /**
   * Ends this direction. No effect if it has ended.
   * @param trailers field lines, each with its CRLF, at most `MAX_SMALL_BLOCK` bytes; not on an upgrade
   */
  end(trailers?: Uint8Array): void;
  /** Announces that a body with `bytes` will arrive, so that the receive window can grow before the body fills it. */
  expect(bytes: number): void;
}

/**
 * Receives a stream's events. Byte views, and offsets into `frame`, are valid during the call only, because the buffer
 * is reused right after it.
 */
export interface StreamHandler {
  /**
   * The final response, or 101. Its block (reason phrase, CRLF, field lines) is `frame[start, blockEnd)`, its first
   * body bytes are `frame[blockEnd, payloadEnd)`. Relay only.
   */
  onResponse?(
    status: number,
    frame: Uint8Array,
    start: number,
    blockEnd: number,
    payloadEnd: number,
    end: boolean,
  ): void;
  /** An interim response (1xx except 101) with its block. Relay only. */
  onInterim?(status: number, frame: Uint8Array, start: number, end: number): void;
  /** A chunk from a body, an upgraded or a raw stream. Call {@link Stream.consumed} when it has been passed on. */
  onData(chunk: Uint8Array, end: boolean): void;
  /** Field lines that end a body. If absent, `onData` receives the end. */
  onTrailers?(frame: Uint8Array, start: number, end: number): void;
  /** The session's beat, about once a second. */
  onBeat?(): void;
  /** The peer or the session ended the stream early. */
  onReset(reason: ResetReason, text: string): void;
}

/** Thrown by writes on a stream that has ended. */
export class StreamEnded extends Error {
  override name = "StreamEnded";
  readonly reason: ResetReason;

  constructor(reason: ResetReason) {
    super("the stream has ended");
    this.reason = reason;
  }
}

/** The connection that sends messages. */
export interface Transport {
  /**
   * Sends `buffer[start, end)` as one binary message. The {@link HEADROOM} bytes before `start` are free to use, and
   * the message may be changed in place. Returns undefined if the bytes were copied, otherwise a promise: until it
   * resolves, the buffer stays in use and no other message is sent. It never throws or rejects; a broken transport is
   * reported through its owner.
   */
  send(buffer: Uint8Array<ArrayBuffer>, start: number, end: number): void | Promise<void>;
}

/**
 * Writes a request's head directly into the outgoing message: request line, `host` line, other field lines, blank line,
 * each with its CRLF.
 */
export interface HeadWriter {
  /** The most bytes that {@link writeHead} writes. */
  readonly headSize: number;
  /** Writes the head at `into[at]`. Returns the offset after it. */
  writeHead(into: Uint8Array, at: number): number;
}
