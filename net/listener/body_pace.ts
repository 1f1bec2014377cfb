import { SMALL } from "../../common/buffers/buffer_pool.ts";
import type { ListenerLimits } from "./limits.ts";

/** How fast a body comes while it is waited for. */
export class BodyPace {
  #isWaiting = false;
  /** Seconds that were spent so, and bytes that came meanwhile. */
  #waited = 0;
  #came = 0;

  /** Somebody waits for more. */
  wait(): void {
    this.#isWaiting = true;
  }

  /** That many bytes have come. */
  came(bytes: number): void {
    this.#isWaiting = false;
    this.#came += bytes;
    // Whoever keeps a good pace has no clock on them.
    if (bytes > SMALL) this.#waited = this.#came = 0;
  }

  /** Asked once a second: whether less comes than from a visitor who wants to be heard. */
  isTooSlow({ bodySeconds, bodyRate }: ListenerLimits): boolean {
    if (!this.#isWaiting || ++this.#waited <= bodySeconds) return false;
    const isSlow = this.#came < bodyRate * bodySeconds;
    this.#waited = this.#came = 0;
    return isSlow;
  }
}
