import type { Connection } from "../../../common/connection/mod.ts";

/** Bytes read at a time for heads and small answers. */
const BUFFER_BYTES = 16 * 1024;

/** The connection to a target broke, or the target ended it, before its answer was complete. */
export class ConnectionBroken extends Error {
  override name = "ConnectionBroken";
}

/**
 * A connection to a target that carries one request after the other. While it waits for its next one a read is
 * pending, so that a target that closes it is noticed before a request goes there.
 */
export class TargetConnection {
  readonly key: string;
  /** What has been read and not been taken: `buffer[start, end)`. */
  buffer = new Uint8Array(BUFFER_BYTES);
  start = 0;
  end = 0;
  /** Whether a byte of the answer under way has come. */
  hasAnswered = false;
  idleSince = 0;
  /** How long the target says it keeps the connection. */
  keepMs = Infinity;
  readonly #connection: Connection;
  readonly #onClosed: (connection: TargetConnection) => void;
  #pending: Promise<number | null> | null = null;
  #isClosed = false;

  /** @param onClosed called once, when the connection is closed from this side */
  constructor(connection: Connection, key: string, onClosed: (connection: TargetConnection) => void) {
    this.#connection = connection;
    this.key = key;
    this.#onClosed = onClosed;
  }

  /**
   * Reads more behind what is in {@link buffer}. False when the target has ended the connection.
   * @throws ConnectionBroken
   */
  async fill(): Promise<boolean> {
    if (this.end === this.buffer.length) this.#makeRoom();
    const pending = this.#pending ??
      this.#connection.read(this.end === 0 ? this.buffer : this.buffer.subarray(this.end));
    this.#pending = null;
    const read = await pending.catch(breakOff);
    if (read === null) return false;
    this.hasAnswered = true;
    this.end += read;
    return true;
  }

  /** Reads into other memory; only when {@link buffer} has been taken to its end. @throws what the driver throws */
  readInto(into: Uint8Array): Promise<number | null> {
    return this.#connection.read(into);
  }

  /** @throws ConnectionBroken */
  write(bytes: Uint8Array): Promise<void> {
    return this.#connection.write(bytes).catch(breakOff);
  }

  /** Empties the buffer and begins to read; `onOver` is called when the target says anything before it is asked. */
  watch(onOver: () => void): void {
    this.start = this.end = 0;
    this.hasAnswered = false;
    if (this.buffer.length > BUFFER_BYTES) this.buffer = new Uint8Array(BUFFER_BYTES);
    const pending = this.#connection.read(this.buffer);
    this.#pending = pending;
    pending.then(onOver, onOver);
  }

  /** Whether it was closed from this side. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connection.close();
    this.#onClosed(this);
  }

  /** What has been taken makes room first, so that any number of interim answers takes no more than one head. */
  #makeRoom(): void {
    const into = this.start > 0 ? this.buffer : new Uint8Array(this.buffer.length * 2);
    into.set(this.buffer.subarray(this.start));
    this.buffer = into;
    this.end -= this.start;
    this.start = 0;
  }
}

/** What a driver throws at a connection that is gone differs; what it means does not. */
function breakOff(cause: unknown): never {
  throw new ConnectionBroken("the connection broke", { cause });
}
