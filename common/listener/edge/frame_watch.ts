/** Frames of a visitor's HTTP/2 connection that cost the server more than the visitor (RFC 9113, section 10.5). */
const RST_STREAM = 3;
const COSTLY: ReadonlySet<number> = new Set([2, RST_STREAM, 4, 6, 9]);
const DATA = 0;
const PREFACE_BYTES = 24;
const FRAME_HEAD = 9;
/**
 * PRIORITY, RST_STREAM, SETTINGS, PING, CONTINUATION and empty DATA frames that may come within {@link WINDOW_MS}.
 * A browser that closes a page full of requests sends some hundred at once, and then none for a while.
 */
const MAX_COSTLY = 1000;
const WINDOW_MS = 5000;

/** Looks at the frames that a visitor sends, as they pass, and says when they are a flood. */
export class FrameWatch {
  /** Bytes to pass over until the next frame's head. */
  #skip = PREFACE_BYTES;
  readonly #head = new Uint8Array(FRAME_HEAD);
  #have = 0;
  #costly = 0;
  #windowStart: number;
  readonly #now: () => number;

  /** @param now milliseconds of a clock that is never set back */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#windowStart = now();
  }

  /** Takes the next bytes. @returns false when the connection should be ended */
  push(bytes: Uint8Array): boolean {
    for (let at = 0; at < bytes.length;) {
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
    const [high, middle, low, type] = this.#head;
    this.#skip = high << 16 | middle << 8 | low;
    if (!COSTLY.has(type) && !(type === DATA && this.#skip === 0)) return true;
    const now = this.#now();
    if (now - this.#windowStart > WINDOW_MS) {
      this.#windowStart = now;
      this.#costly = 0;
    }
    return ++this.#costly <= MAX_COSTLY;
  }
}
