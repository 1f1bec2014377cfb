import { HttpError, serverRestarting } from "../../common/http_error.ts";
import { describeError, type Logger, stackOf } from "../../common/log.ts";

/** A part's name and loader, and the log for failures. */
export interface LazyOptions<T> {
  /** The part's name in the log. */
  name: string;
  /** Imports it by `later` and opens it. */
  load(): Promise<T>;
  log: Logger;
}

/** A server part that loads once, with its first use. */
export class Lazy<T extends object> {
  readonly #options: LazyOptions<T>;
  #loading: Promise<T> | null = null;
  #loaded: T | null = null;
  #isClosed = false;
  /** The reason for the last failure. */
  #reason: string | null = null;

  constructor(options: LazyOptions<T>) {
    this.#options = options;
  }

  /** The loaded part, or null. */
  get loaded(): T | null {
    return this.#loaded;
  }

  /**
   * Loads the part, unless it is loaded or loading. The next call tries again after a failure.
   * @throws HttpError 500 `internal_error` if loading fails, which the log reports once for each reason; 503
   * `server_restarting` after {@link close}
   */
  load(): Promise<T> {
    if (this.#isClosed && this.#loading === null) return Promise.reject(serverRestarting());
    return this.#loading ??= this.#load();
  }

  /** Calls `action` with the part, at once or after loading. @throws as {@link load} does */
  use<R>(action: (part: T) => R | Promise<R>): R | Promise<R> {
    return this.#loaded === null ? this.load().then(action) : action(this.#loaded);
  }

  /** Prevents further loads. @returns the loaded or loading part, for its end, or null */
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
      // Every request tries again, and visitors must not fill the log.
      if (reason !== this.#reason) log.error("not_loaded", { part: name, reason, stack: stackOf(cause) });
      this.#reason = reason;
      throw new HttpError(500, "internal_error", "The server could not load this part.", { cause });
    }
  }
}
