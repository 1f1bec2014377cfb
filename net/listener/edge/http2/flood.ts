import { Flag, FrameType, SETTING_SIZE } from "./frames.ts";

/** Cost the server more than the visitor, or are of no use to anyone (RFC 9113, section 10.5). */
const COSTLY: ReadonlySet<number> = new Set([
  FrameType.priority,
  FrameType.rstStream,
  FrameType.settings,
  FrameType.ping,
  FrameType.continuation,
]);
/** Nobody asked for it: this side sends no PING. */
const UNASKED_PONG_COST = 50;
/**
 * PRIORITY, RST_STREAM, SETTINGS, PING, CONTINUATION and empty DATA frames that may come within {@link WINDOW_MS}, and
 * streams that are ended for a fault: a visitor may have this side reset them as fast as they do.
 * A browser that closes a page full of requests sends some hundred at once, and then none for a while.
 */
const MAX_COST = 1000;
const WINDOW_MS = 5000;

/** Counts the frames of a connection that are worth more to an attacker than to anybody else. */
export class Flood {
  #count = 0;
  #windowStart: number;
  readonly #now: () => number;

  /** @param now milliseconds of a clock that is never set back */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#windowStart = now();
  }

  /**
   * Counts a received frame and returns whether it exceeds the limit.
   * @param size bytes of its payload; for DATA without padding
   */
  isFloodedBy(type: number, flags: number, size: number): boolean {
    // An upload's end may be an empty frame of its own, one a stream.
    const isEmptyData = type === FrameType.data && size === 0 && (flags & Flag.endStream) === 0;
    if (!isEmptyData && !COSTLY.has(type)) return false;
    if (type === FrameType.ping && (flags & Flag.ack) !== 0) return this.isOneTooMany(UNASKED_PONG_COST);
    // Each SETTINGS entry is work of its own, and one frame has room for 2,730 entries.
    return this.isOneTooMany(type === FrameType.settings ? 1 + Math.floor(size / SETTING_SIZE) : 1);
  }

  /** Counts what costs as much as these: a fault that ends a stream, say. */
  isOneTooMany(cost = 1): boolean {
    const now = this.#now();
    if (now - this.#windowStart > WINDOW_MS) {
      this.#windowStart = now;
      this.#count = 0;
    }
    this.#count += cost;
    return this.#count > MAX_COST;
  }
}
