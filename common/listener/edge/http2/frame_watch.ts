const Type = { data: 0, headers: 1, priority: 2, rstStream: 3, settings: 4, ping: 6, continuation: 9 } as const;
/** Cost the server more than the visitor, or are of no use to anyone (RFC 9113, section 10.5). */
const COSTLY: ReadonlySet<number> = new Set([
  Type.priority,
  Type.rstStream,
  Type.settings,
  Type.ping,
  Type.continuation,
]);
const END_STREAM = 0x1;
const ACK = 0x1;
/** Nobody asked for it: the server pings only when it stops, and writes a line of its log about each of these. */
const UNASKED_PONG_COST = 50;
const PREFACE = [..."PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"].map((char) => char.charCodeAt(0));
const FRAME_HEAD = 9;
/**
 * PRIORITY, RST_STREAM, SETTINGS, PING, CONTINUATION and empty DATA frames that may come within {@link WINDOW_MS}.
 * A browser that closes a page full of requests sends some hundred at once, and then none for a while.
 */
const MAX_COST = 1000;
const WINDOW_MS = 5000;

/** Looks at the frames that a visitor sends, as they pass, and says when they are a flood or no frames at all. */
export class FrameWatch {
  /** The stream that was opened last, 0 before the first. */
  lastStream = 0;
  #preface = 0;
  /** Bytes to pass over until the next frame's head. */
  #skip = 0;
  readonly #head = new Uint8Array(FRAME_HEAD);
  #have = 0;
  #cost = 0;
  #windowStart: number;
  readonly #now: () => number;

  /** @param now milliseconds of a clock that is never set back */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#windowStart = now();
  }

  /** Takes the next bytes. @returns false when the connection should be ended */
  push(bytes: Uint8Array): boolean {
    let at = 0;
    while (this.#preface < PREFACE.length && at < bytes.length) {
      // Else it would be read as HTTP/1.1, with another idea of where a request ends.
      if (bytes[at++] !== PREFACE[this.#preface++]) return false;
    }
    while (at < bytes.length) {
      if (this.#skip > 0) {
        const step = Math.min(this.#skip, bytes.length - at);
        this.#skip -= step;
        at += step;
        continue;
      }
      this.#head[this.#have++] = bytes[at++];
      if (this.#have === FRAME_HEAD && !this.#takeFrame()) return false;
    }
    return true;
  }

  #takeFrame(): boolean {
    this.#have = 0;
    const head = this.#head, type = head[3], flags = head[4];
    this.#skip = head[0] << 16 | head[1] << 8 | head[2];
    if (type === Type.headers) this.#opened((head[5] & 0x7f) << 24 | head[6] << 16 | head[7] << 8 | head[8]);
    // An upload's end may be an empty frame of its own, one a stream.
    const isEmptyData = type === Type.data && this.#skip === 0 && (flags & END_STREAM) === 0;
    if (!COSTLY.has(type) && !isEmptyData) return true;
    return this.#spend(type === Type.ping && (flags & ACK) !== 0 ? UNASKED_PONG_COST : 1);
  }

  /** HEADERS are an upload's trailers as well. */
  #opened(stream: number): void {
    if (stream > this.lastStream) this.lastStream = stream;
  }

  #spend(cost: number): boolean {
    const now = this.#now();
    if (now - this.#windowStart > WINDOW_MS) {
      this.#windowStart = now;
      this.#cost = 0;
    }
    this.#cost += cost;
    return this.#cost <= MAX_COST;
  }
}
