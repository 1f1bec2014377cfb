import type { Connection } from "./types.ts";

/**
 * Creates two connections in memory, each the other's peer. A write resolves when the other side has read all bytes.
 */
export function createConnectionPair(): [Connection, Connection] {
  const there = new Pipe(), back = new Pipe();
  return [new PairedConnection(there, back), new PairedConnection(back, there)];
}

class PairedConnection implements Connection {
  readonly #out: Pipe;
  readonly #in: Pipe;

  constructor(out: Pipe, into: Pipe) {
    this.#out = out;
    this.#in = into;
  }

  read(into: Uint8Array): Promise<number | null> {
    return this.#in.read(into);
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#out.write(bytes);
  }

  closeWrite(): Promise<void> {
    this.#out.end();
    return Promise.resolve();
  }

  close(): void {
    this.#out.end();
    this.#in.break();
  }
}

/** One direction. */
class Pipe {
  /** Rest of the pending write. */
  #bytes: Uint8Array | null = null;
  #written = Promise.withResolvers<void>();
  /** Wakes the pending read. */
  #wake: (() => void) | null = null;
  #ended = false;
  #broken = false;

  async read(into: Uint8Array): Promise<number | null> {
    while (this.#bytes === null) {
      if (this.#ended || this.#broken) return null;
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    if (this.#broken) return null;
    const count = Math.min(into.length, this.#bytes.length);
    into.set(this.#bytes.subarray(0, count));
    this.#bytes = count === this.#bytes.length ? null : this.#bytes.subarray(count);
    if (this.#bytes === null) this.#written.resolve();
    return count;
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.#broken || this.#ended) throw new Error("the other side has closed the connection");
    if (bytes.length === 0) return;
    this.#bytes = bytes;
    this.#written = Promise.withResolvers();
    this.#notify();
    await this.#written.promise;
  }

  end(): void {
    this.#ended = true;
    this.#notify();
  }

  /** Makes writes fail after the reader closed. */
  break(): void {
    this.#broken = true;
    this.#bytes = null;
    this.#written.reject(new Error("the other side has closed the connection"));
    this.#written.promise.catch(() => {});
    this.#notify();
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }
}
