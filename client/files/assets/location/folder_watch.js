// @ts-check
// Tells when something in the open folder was changed by anybody.

/** How often it is looked when the share does not tell, in milliseconds. */
const LOOK_MS = 30_000;

/** Follows one folder at a time, while the page can be seen: a browser has few connections for all its windows. */
export class FolderWatch {
  #onchange;
  /** @type {string | null} */
  #path = null;
  /** @type {EventSource | null} */
  #source = null;
  #isTold = false;

  /** @param {() => void} onchange */
  constructor(onchange) {
    this.#onchange = onchange;
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.#close();
      else if (this.#path !== null) {
        this.#open(this.#path);
        this.#onchange();
      }
    });
    setInterval(() => {
      if (!this.#isTold && !document.hidden && this.#path !== null) this.#onchange();
    }, LOOK_MS);
  }

  /** @param {string | null} path of the folder that is open; null for none */
  follow(path) {
    if (path === this.#path) return;
    this.#close();
    this.#path = path;
    if (path !== null && !document.hidden) this.#open(path);
  }

  /** @param {string} path */
  #open(path) {
    this.#close();
    const source = new EventSource(`${path}?watch`);
    let wasOpen = false;
    source.addEventListener("open", () => {
      this.#isTold = true;
      // What changed while the connection was down is not told any more.
      if (wasOpen) this.#onchange();
      wasOpen = true;
    });
    source.addEventListener("error", () => this.#isTold = false);
    source.addEventListener("change", () => this.#onchange());
    this.#source = source;
  }

  #close() {
    this.#source?.close();
    this.#source = null;
    this.#isTold = false;
  }
}
