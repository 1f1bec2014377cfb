import { FIRST_WINDOW } from "./frames.ts";
import type { StreamState } from "./states.ts";

/** Largest receive window in bytes, as large as the connection window. A window grows while its reader keeps up. */
const LARGEST_WINDOW = 1024 * 1024;
const GROW_BY = 4;
/** A reader that consumes half a window in this time waits for the window, so the window grows. */
const GROW_WITHIN_MS = 250;
const NOTHING = new Uint8Array(0);

/** The receiver of stream events. The session never waits for it. */
export interface StreamReceiver {
  /**
   * Receives body bytes, which are valid during the call only.
   * @param size flow-control bytes, padding included
   * @param end no more body follows
   * @throws StreamError to reset the stream
   */
  onData(bytes: Uint8Array, size: number, end: boolean): void;
  /** Receives the trailer section, which ends the body. @throws StreamError to reset the stream */
  onTrailers(lines: Uint8Array<ArrayBuffer>): void;
  /** Reports that the last response frame was queued. */
  onSent(): void;
  /** Reports that the stream ended: both directions, by a reset, or with the connection. */
  onClosed(): void;
  /** Runs once a second: ends the exchange when its client is too slow. */
  onTick(): void;
}

/** One stream: its state, its two windows and its unsent bytes. */
export class Stream {
  readonly id: number;
  state: StreamState = "idle";
  /** The receiver, which exists after HEADERS. */
  receiver: StreamReceiver | null = null;
  /** Bytes that the client may still send. */
  allowance = FIRST_WINDOW;
  /** Bytes that the client accepts. Negative after a smaller INITIAL_WINDOW_SIZE (RFC 9113, section 6.9.2). */
  window: number;
  /** The bytes to send start at `bytes[at]`. */
  bytes: Uint8Array = NOTHING;
  at = 0;
  /** Whether the response ends after {@link bytes}. */
  ends = false;
  /** A field block that follows the body. */
  trailers: Uint8Array = NOTHING;
  /** Resolves the write that supplied {@link bytes}. */
  written: (() => void) | null = null;
  /** Whether the send queue contains the stream. */
  isQueued = false;
  /** Seconds without a sent byte. The receiver counts them. */
  waited = 0;
  #receiveWindow = FIRST_WINDOW;
  /** Consumed bytes that no WINDOW_UPDATE has returned yet. */
  #unacknowledged = 0;
  #updatedAt: number;

  /** @param now milliseconds of a monotonic clock */
  constructor(id: number, window: number, now: number) {
    this.id = id;
    this.window = window;
    this.#updatedAt = now;
  }

  /** Bytes that wait to be sent. */
  get left(): number {
    return this.bytes.length - this.at;
  }

  /** Whether the response may continue. */
  get canSend(): boolean {
    return this.state === "open" || this.state === "halfClosedRemote";
  }

  /** Whether the client may send more of the body. */
  get canReceive(): boolean {
    return this.state === "open" || this.state === "halfClosedLocal";
  }

  /**
   * Counts consumed body bytes.
   * @param waiting bytes that are received and not consumed yet
   * @returns the increment for a WINDOW_UPDATE, or 0 while it is too small to send
   */
  consume(bytes: number, waiting: number, now: number): number {
    this.#unacknowledged += bytes;
    if (this.#unacknowledged < this.#receiveWindow / 2) return 0;
    let more = this.#unacknowledged;
    if (now - this.#updatedAt < GROW_WITHIN_MS && waiting <= this.#receiveWindow / 4) {
      const grown = Math.min(GROW_BY * this.#receiveWindow, LARGEST_WINDOW);
      more += grown - this.#receiveWindow;
      this.#receiveWindow = grown;
    }
    this.#updatedAt = now;
    this.#unacknowledged = 0;
    this.allowance += more;
    return more;
  }
}
