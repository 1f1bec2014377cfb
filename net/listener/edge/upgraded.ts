import type { Connection } from "../../connection/mod.ts";

/** A connection that speaks another protocol from now on: what was read of it already comes first. */
export class UpgradedConnection implements Connection {
  readonly #connection: Connection;
  readonly #write: (bytes: Uint8Array) => Promise<void>;
  readonly #closed: () => void;
  #early: Uint8Array | null;
  /** Resolves when the read that was under way has brought something. */
  #awaited: Promise<void> | null = null;
  #arrived: () => void = () => {};
  #ended = false;

  /**
   * @param write to the connection, with the clock on it
   * @param closed called by {@link close}
   */
  constructor(
    connection: Connection,
    early: Uint8Array,
    write: (bytes: Uint8Array) => Promise<void>,
    closed: () => void,
  ) {
    this.#connection = connection;
    this.#write = write;
    this.#early = early.length > 0 ? early : null;
    this.#closed = closed;
  }

  /** A read is under way: its bytes come through {@link takeEarly}. */
  awaitEarly(): void {
    this.#awaited = new Promise((resolve) => this.#arrived = resolve);
  }

  /** That read has brought `count` bytes at `memory[at]`, or the end. */
  takeEarly(memory: Uint8Array, at: number, count: number | null): void {
    if (count === null) this.#ended = true;
    else this.#early = memory.slice(at, at + count);
    this.#awaited = null;
    this.#arrived();
  }

  read(into: Uint8Array): Promise<number | null> {
    if (this.#early !== null) return Promise.resolve(this.#takeEarly(into, this.#early));
    if (this.#awaited !== null) return this.#awaited.then(() => this.read(into));
    return this.#ended ? Promise.resolve(null) : this.#connection.read(into);
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#write(bytes);
  }

  closeWrite(): Promise<void> {
    return this.#connection.closeWrite();
  }

  close(): void {
    this.#closed();
  }

  /** The connection was closed: whoever waits for an early read hears of the end. */
  lost(): void {
    this.#ended = true;
    this.#early = this.#awaited = null;
    this.#arrived();
  }

  #takeEarly(into: Uint8Array, early: Uint8Array): number {
    const count = Math.min(into.length, early.length);
    into.set(early.subarray(0, count));
    this.#early = count < early.length ? early.subarray(count) : null;
    return count;
  }
}
