import { FrameType } from "./frames.ts";

/** Cost the server more than the visitor, or are of no use to anyone (RFC 9113, section 10.5). */
const COSTLY: ReadonlySet<number> = new Set([
  FrameType.priority,
  FrameType.rstStream,
  FrameType.settings,
  FrameType.ping,
  FrameType.continuation,
]);
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
   * A frame has come. Says whether it is one too many.
   * @param isEmptyData it is DATA that brings neither bytes nor the end
   */
  isFloodedBy(type: number, isEmptyData: boolean): boolean {
    return (isEmptyData || COSTLY.has(type)) && this.isOneTooMany();
  }

  /** Counts what costs as much: a fault that ends a stream, say. */
  isOneTooMany(): boolean {
    const now = this.#now();
    if (now - this.#windowStart > WINDOW_MS) {
      this.#windowStart = now;
      this.#count = 0;
    }
    return ++this.#count > MAX_COST;
  }
}
