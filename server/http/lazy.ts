import { HttpError, serverRestarting } from "../../common/http_error.ts";
import { describeError, type Logger, stackOf } from "../../common/log.ts";

/** What is put off, and who hears when it cannot be had. */
export interface LazyOptions<T> {
  /** For the log, in a word or two. */
  name: string;
  /** Imports it by `later` and opens it. */
  load(): Promise<T>;
  log: Logger;
}

/** A part of the server that is loaded when it is first wanted, once for all who want it. */
export class Lazy<T extends object> {
  readonly #options: LazyOptions<T>;
  #loading: Promise<T> | null = null;
  #loaded: T | null = null;
  #isClosed = false;
  /** Why it could not be loaded last. */
  #reason: string | null = null;

  constructor(options: LazyOptions<T>) {
    this.#options = options;
  }

  /** What is there now; null before it is loaded. */
  get loaded(): T | null {
    return this.#loaded;
  }

  /**
   * Loads it, unless it is there or about to be.
   * @throws HttpError 500 `internal_error` when that fails, of which the log hears once a reason: who asks next has it
   * tried again; 503 `server_restarting` when it was not wanted before {@link close}
   */
  load(): Promise<T> {
    if (this.#isClosed && this.#loading === null) return Promise.reject(serverRestarting());
    return this.#loading ??= this.#load();
  }

  /** Does something with it: now when it is there, else once it is loaded. @throws as {@link load} does */
  use<R>(action: (part: T) => R | Promise<R>): R | Promise<R> {
    return this.#loaded === null ? this.load().then(action) : action(this.#loaded);
  }

  /** Begins to load nothing any more. @returns what was loaded or just about to be, for its end; null for nothing */
  async close(): Promise<T | null> {
    this.#isClosed = true;
    return await this.#loading?.catch(() => null) ?? null;
  }

  async #load(): Promise<T> {
    const { name, load, log } = this.#options;
    try {
      return this.#loaded = await load();
    } catch (cause) {
      this.#loading = null;
      const reason = describeError(cause);
      // Whoever asks has it tried again: strangers must not fill the log.
      if (reason !== this.#reason) log.error("not_loaded", { part: name, reason, stack: stackOf(cause) });
      this.#reason = reason;
      throw new HttpError(500, "internal_error", "This part of the server could not be loaded.", { cause });
    }
  }
}
