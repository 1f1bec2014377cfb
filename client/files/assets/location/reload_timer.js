// @ts-check
// Asks for the list again after changes, and a share that takes long less often.

/** Pauses before the list is asked for again, in milliseconds. */
const MIN_PAUSE = 700;
const MAX_PAUSE = 30_000;

/**
 * The pause after an answer that took so long, in milliseconds: a share is busy with it for a sixth of the time at most.
 * @param {number} took
 */
export function nextPause(took) {
  return Math.min(MAX_PAUSE, Math.max(MIN_PAUSE, 5 * took));
}

/** One reload at a time, for however many changes. */
export class ReloadTimer {
  #reload;
  #isSet = false;
  #pause = MIN_PAUSE;

  /** @param {() => Promise<boolean>} reload whether there was an answer */
  constructor(reload) {
    this.#reload = reload;
  }

  schedule() {
    if (this.#isSet) return;
    this.#isSet = true;
    setTimeout(() => this.#run(), this.#pause);
  }

  async #run() {
    this.#isSet = false;
    const from = performance.now();
    if (await this.#reload()) this.#pause = nextPause(performance.now() - from);
  }
}
