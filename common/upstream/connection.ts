import type { Connection } from "../connection/mod.ts";
import { ConnectionBroken } from "./types.ts";

/** Bytes read at a time for heads and small answers. */
const BUFFER_BYTES = 16 * 1024;

/** Takes what a connection reads: callbacks, as a promise a read would cost a busy relay a twentieth of its time. */
export interface Reader {
  /** Bytes came, and lie in the connection's buffer; or, with `ended`, the upstream ended its side. */
  onRead(connection: UpstreamConnection, ended: boolean): void;
  onBroken(error: ConnectionBroken): void;
}

/**
 * A connection to an upstream that carries one HTTP/1.1 request after the other. While it waits for its next one a read
 * is pending, so that an upstream that closes it is noticed before a request goes there.
 */
export class UpstreamConnection {
  /** The pool's key: connections of one key take each other's place. */
  readonly key: string;
  /** What has been read and not been taken: `buffer[start, end)`. */
  buffer = new Uint8Array(BUFFER_BYTES);
  start = 0;
  end = 0;
  /** Whether a byte of the answer under way has come. */
  hasAnswered = false;
  /** When it was last used, by `performance.now()`. */
  idleSince = 0;
  /** Milliseconds that the upstream says it keeps the connection. */
  keepMs = Infinity;
  readonly #connection: Connection;
  readonly #onClosed: (connection: UpstreamConnection) => void;
  #reader: Reader | null = null;
  #isReading = false;
  #isClosed = false;

  /** @param onClosed called once, when the connection is closed from this side */
  constructor(connection: Connection, key: string, onClosed: (connection: UpstreamConnection) => void) {
    this.#connection = connection;
    this.key = key;
    this.#onClosed = onClosed;
  }

  /** Reads more behind what is in {@link buffer}, or goes on with the read under way. One reader at a time. */
  read(reader: Reader): void {
    this.#reader = reader;
    if (this.#isReading) return;
    if (this.end === this.buffer.length) this.#makeRoom();
    this.#startRead();
  }

  /**
   * {@link read} as a promise. False when the upstream has ended the connection.
   * @throws ConnectionBroken
   */
  fill(): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.read({ onRead: (_, ended) => resolve(!ended), onBroken: reject });
    });
  }

  /** Reads into other memory; only when {@link buffer} has been taken to its end. @throws what the driver throws */
  readInto(into: Uint8Array): Promise<number | null> {
    return this.#connection.read(into);
  }

  /** @throws ConnectionBroken */
  write(bytes: Uint8Array): Promise<void> {
    return this.#connection.write(bytes).catch(breakOff);
  }

  /** Empties the buffer and begins to read; `onOver` is called when the upstream says anything before it is asked. */
  watch(onOver: () => void): void {
    this.start = this.end = 0;
    this.hasAnswered = false;
    if (this.buffer.length > BUFFER_BYTES) this.buffer = new Uint8Array(BUFFER_BYTES);
    this.#reader = { onRead: onOver, onBroken: onOver };
    this.#startRead();
  }

  /**
   * The connection as it is, for another protocol that begins behind the last head: what has been read and not been
   * taken is read first. This one is of no use then, except that closing either closes both.
   */
  detach(): Connection {
    let early = this.buffer.slice(this.start, this.end);
    this.start = this.end = 0;
    return {
      read: (into) => {
        if (early.length === 0) return this.#connection.read(into);
        const taken = Math.min(into.length, early.length);
        into.set(early.subarray(0, taken));
        early = early.subarray(taken);
        return Promise.resolve(taken);
      },
      write: (bytes) => this.#connection.write(bytes),
      closeWrite: () => this.#connection.closeWrite(),
      close: () => this.close(),
    };
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

  #startRead(): void {
    this.#isReading = true;
    const into = this.end === 0 ? this.buffer : this.buffer.subarray(this.end);
    this.#connection.read(into).then(this.#onRead, this.#onBroken);
  }

  // Made once a connection, not once a read.
  readonly #onRead = (count: number | null): void => {
    this.#isReading = false;
    if (count !== null) {
      this.end += count;
      this.hasAnswered = true;
    }
    this.#reader?.onRead(this, count === null);
  };

  readonly #onBroken = (cause: unknown): void => {
    this.#isReading = false;
    this.#reader?.onBroken(new ConnectionBroken("the connection broke", { cause }));
  };

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
