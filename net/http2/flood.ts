import { Flag, FrameType, SETTING_SIZE } from "./frames.ts";

/** Frames that cost the server more than the client, or have no use (RFC 9113, section 10.5). */
const COSTLY: ReadonlySet<number> = new Set([
  FrameType.priority,
  FrameType.rstStream,
  FrameType.settings,
  FrameType.ping,
  FrameType.continuation,
]);
/** The cost of a PING response: this side sends no PING. */
const PONG_COST = 50;
/**
 * The cost that a client may cause within {@link WINDOW_MS}: PRIORITY, RST_STREAM, PING, CONTINUATION and empty DATA
 * frames, SETTINGS entries, and stream errors, because these make this side reset streams. A browser that closes a page
 * with hundreds of requests resets their streams at once, and then sends few such frames for a while.
 */
const MAX_COST = 1000;
const WINDOW_MS = 5000;

/** Limits the frames that are more useful to an attacker than to a client. */
export class Flood {
  #count = 0;
  #windowStart = 0;

  /**
   * Counts a received frame and returns whether it exceeds the limit.
   * @param size bytes of its payload; for DATA without padding
   * @param now milliseconds of a monotonic clock
   */
  isFloodedBy(type: number, flags: number, size: number, now: number): boolean {
    // An upload may end with an empty frame, one for each stream.
    const isEmptyData = type === FrameType.data && size === 0 && (flags & Flag.endStream) === 0;
    if (!isEmptyData && !COSTLY.has(type)) return false;
    if (type === FrameType.ping && (flags & Flag.ack) !== 0) return this.isOneTooMany(now, PONG_COST);
    // Each SETTINGS entry is work of its own, and one frame has room for 2,730 entries.
    return this.isOneTooMany(now, type === FrameType.settings ? 1 + Math.floor(size / SETTING_SIZE) : 1);
  }

  /** Counts another cost, such as a stream error, and returns whether it exceeds the limit. */
  isOneTooMany(now: number, cost = 1): boolean {
    if (now - this.#windowStart > WINDOW_MS) {
      this.#windowStart = now;
      this.#count = 0;
    }
    this.#count += cost;
    return this.#count > MAX_COST;
  }
}
