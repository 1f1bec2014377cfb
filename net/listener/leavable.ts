/** What an exchange knows of a visitor who may leave before their answer is complete. */
export abstract class Leavable {
  #abort: AbortController | null = null;
  #hasLeft = false;
  #onLeave: (() => void) | null = null;

  /** As `Exchange.signal`. It is made when it is asked for. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#hasLeft) this.#abort.abort(createLeft());
    return this.#abort.signal;
  }

  /** As `Exchange.onLeave`. */
  get onLeave(): (() => void) | null {
    return this.#onLeave;
  }

  set onLeave(leave: (() => void) | null) {
    this.#onLeave = leave;
    if (this.#hasLeft && leave !== null) queueMicrotask(leave);
  }

  protected get hasLeft(): boolean {
    return this.#hasLeft;
  }

  /** The visitor has left: whoever wants to know is told. */
  protected tellLeft(): void {
    this.#hasLeft = true;
    this.#onLeave?.();
    this.#abort?.abort(createLeft());
  }
}

const createLeft = () => new DOMException("The visitor has gone.", "AbortError");
