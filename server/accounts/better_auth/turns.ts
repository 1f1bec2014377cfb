import { HttpError } from "../../../common/http_error.ts";

/** Bounds of {@link Turns}, both in numbers of calls. */
export interface TurnsOptions {
  /** What runs at a time. */
  atATime: number;
  /** Who may wait; more are refused. */
  waiting: number;
}

/** Lets costly work run a few at a time, in the order in which it came. */
export class Turns {
  readonly #options: TurnsOptions;
  readonly #queue: (() => void)[] = [];
  #running = 0;

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  /** Runs `work` when it is its turn. @throws HttpError 503 `busy`, and what the work throws */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const { atATime, waiting } = this.#options;
    if (this.#running >= atATime) {
      if (this.#queue.length >= waiting) throw busy();
      await new Promise<void>((resolve) => this.#queue.push(resolve));
    } else this.#running++;
    try {
      return await work();
    } finally {
      // Whoever waits takes this place over.
      const next = this.#queue.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}

const busy = (): HttpError =>
  new HttpError(503, "busy", "Too many people sign in at this moment.", { headers: { "retry-after": "5" } });
