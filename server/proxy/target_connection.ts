import type { Connection } from "../../common/connection/mod.ts";

/** Bytes read at a time for heads and small answers. */
const BUFFER_BYTES = 16 * 1024;

/**
 * A connection to a target that carries one request after the other. While it waits for its next one a read is
 * pending, so that a target that closes it is noticed before a request goes there.
 */
export class TargetConnection {
  readonly #connection: Connection;
  /** What has been read and not been taken: `buffer[start, end)`. */
  buffer = new Uint8Array(BUFFER_BYTES);
  start = 0;
  end = 0;
  /** Whether it has carried a request before. */
  isReused = false;
  idleSince = 0;
  #pending: Promise<number | null> | null = null;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Reads more behind what is in {@link buffer}. False when the target has ended the connection. */
  async fill(): Promise<boolean> {
    if (this.end === this.buffer.length) this.#grow();
    const read = await (this.#pending ?? this.#connection.read(this.buffer.subarray(this.end)));
    this.#pending = null;
    if (read === null) return false;
    this.end += read;
    return true;
  }

  /** Reads into other memory; only when {@link buffer} has been taken to its end. */
  readInto(into: Uint8Array): Promise<number | null> {
    return this.#connection.read(into);
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#connection.write(bytes);
  }

  /** Empties the buffer and begins to read; `onOver` is called when the target says anything before it is asked. */
  watch(onOver: () => void): void {
    this.start = this.end = 0;
    this.isReused = true;
    const pending = this.#connection.read(this.buffer);
    this.#pending = pending;
    pending.then(onOver, onOver);
  }

  close(): void {
    this.#connection.close();
  }

  #grow(): void {
    const larger = new Uint8Array(this.buffer.length * 2);
    larger.set(this.buffer);
    this.buffer = larger;
  }
}
