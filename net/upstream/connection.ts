import { Slabs } from "../../common/buffers/slabs.ts";
import { type Connection, readFor, type Receiver, type Sender, writeFor } from "../connection/mod.ts";
import { CR, LF, MAX_RESPONSE_HEAD, parseResponseHead, type RequestFacts, type ResponseHead } from "../http1/mod.ts";
import { ConnectionBroken } from "./types.ts";

/** Read size for heads and small responses, in bytes: most fit completely. */
const BUFFER_BYTES = 16 * 1024;
/** Size for a request head: browsers send 500 to 2,000 bytes. */
const SCRATCH_BYTES = 4 * 1024;
/** Buffers of a closed connection may still be in use, so the garbage collector frees them. */
const buffers = new Slabs(BUFFER_BYTES, 16), scratches = new Slabs(SCRATCH_BYTES, 16);
/** Number of times that an incomplete head is parsed again after each read; afterwards only after a blank line. */
const EAGER_PARSES = 8;

/** Receives reads through callbacks, because a promise per read would cost a busy tunnel a twentieth of its time. */
export interface Reader {
  /** Reports `count` bytes at the end of the connection's buffer; or null when the upstream ended its side. */
  onRead(connection: UpstreamConnection, count: number | null): void;
  /** Reports a broken connection. No other call follows. */
  onBroken(connection: UpstreamConnection, error: ConnectionBroken): void;
}

/**
 * A connection to an upstream that carries HTTP/1.1 requests one after another. A read is pending while it is idle, so
 * that a close by the upstream is noticed before the next request.
 */
export class UpstreamConnection {
  /** The pool's key: connections with one key are interchangeable. */
  readonly key: string;
  /** Unconsumed bytes: `buffer[start, end)`. */
  buffer: Uint8Array<ArrayBuffer> = buffers.cut();
  start = 0;
  end = 0;
  /** Whether the current response has started. */
  hasResponded = false;
  /** Whether it has carried a request before. Such a connection can end just when the next request is sent. */
  isKept = false;
  /** Time of last use, from `performance.now()`. */
  idleSince = 0;
  /** The upstream's keep-alive time, in milliseconds. */
  keepMs = Infinity;
  readonly #connection: Connection;
  readonly #onClosed: (connection: UpstreamConnection) => void;
  readonly #onHeard: (connection: UpstreamConnection) => void;
  #scratch: Uint8Array<ArrayBuffer> | null = null;
  #reader: Reader | null = null;
  #isReading = false;
  #isClosed = false;
  /** Bytes in the last read, and the number of failed attempts to parse the buffered head. */
  #came = 0;
  #cutParses = 0;

  /** Whether the buffer holds the whole response with this head. */
  isWhole({ framing, end, length }: ResponseHead): boolean {
    return framing === "none" || (framing === "length" && this.end >= end + length);
  }

  /**
   * @param onClosed called once, when this side closes the connection
   * @param onHeard called when the first response starts
   */
  constructor(
    connection: Connection,
    key: string,
    onClosed: (connection: UpstreamConnection) => void,
    onHeard: (connection: UpstreamConnection) => void = () => {},
  ) {
    this.#connection = connection;
    this.key = key;
    this.#onClosed = onClosed;
    this.#onHeard = onHeard;
  }

  /** Reads more bytes after those in {@link buffer}, or continues the pending read. One reader at a time. */
  read(reader: Reader): void {
    this.#reader = reader;
    if (this.#isReading) return;
    if (this.end === this.buffer.length) this.#makeRoom();
    this.#startRead();
  }

  /**
   * {@link read} as a promise: the byte count, or null when the upstream has ended the connection.
   * @throws ConnectionBroken
   */
  fill(): Promise<number | null> {
    return new Promise((resolve, reject) => {
      this.read({ onRead: (_, count) => resolve(count), onBroken: (_, error) => reject(error) });
    });
  }

  /**
   * Parses the head at {@link start}. Call it once per read, and after each consumed head. A head that arrives byte by
   * byte is not parsed each time, which would cost the square of its length.
   * @returns null for an incomplete head
   * @throws ResponseSyntaxError
   */
  parseHead(request: RequestFacts): ResponseHead | null {
    if (this.#cutParses > EAGER_PARSES && !this.#mayEndHead()) return null;
    const head = parseResponseHead(this.buffer, this.start, this.end, request);
    this.#cutParses = head === null ? this.#cutParses + 1 : 0;
    return head;
  }

  /** Reads into another buffer; only when {@link buffer} is consumed. @throws the driver's error */
  readInto(into: Uint8Array): Promise<number | null> {
    return this.#connection.read(into);
  }

  /** Writes all `bytes`, which must not change until it resolves. Rejects with the driver's error. */
  write(bytes: Uint8Array): Promise<void> {
    return this.#connection.write(bytes);
  }

  /** Writes without waiting. A broken connection ends its read too, and that side handles it. */
  send(bytes: Uint8Array): void {
    writeFor(this.#connection, bytes, NOBODY);
  }

  /** A 4 KiB buffer for consecutive request heads. */
  get scratch(): Uint8Array<ArrayBuffer> {
    return this.#scratch ??= scratches.cut();
  }

  /** Empties the buffer and starts a read. `reader` is notified when the upstream sends without a request. */
  watch(reader: Reader): void {
    this.start = this.end = 0;
    this.hasResponded = false;
    this.isKept = true;
    // A large head is an exception, so idle connections do not keep a buffer for one.
    if (this.buffer.length > BUFFER_BYTES) this.buffer = buffers.cut();
    this.#reader = reader;
    this.#startRead();
  }

  /**
   * Returns the connection for another protocol after the last head. Unconsumed bytes are read first. This object is
   * unusable afterwards, but closing either closes both.
   */
  detach(): Connection {
    let early = this.buffer.slice(this.start, this.end);
    this.start = this.end = 0;
    this.buffer = NOTHING;
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

  /** Whether this side closed it. */
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
    readFor(this.#connection, into, this.#receiver);
  }

  // One callback per connection, not per read.
  readonly #receiver: Receiver = {
    onRead: (count) => {
      this.#isReading = false;
      if (count !== null) {
        this.end += count;
        this.#came = count;
        if (!this.hasResponded && !this.isKept) this.#onHeard(this);
        this.hasResponded = true;
      }
      this.#reader?.onRead(this, count);
    },
    onBroken: (cause) => {
      this.#isReading = false;
      this.#reader?.onBroken(this, new ConnectionBroken("the connection broke", { cause }));
    },
  };

  /** Reports whether the last bytes can end a head, or the head is too large. */
  #mayEndHead(): boolean {
    const { buffer, start, end } = this;
    if (end - start >= MAX_RESPONSE_HEAD) return true;
    for (let at = Math.max(end - this.#came, start + 2); at < end; at++) {
      if (buffer[at] === LF && buffer[at - 2] === LF && buffer[at - 1] === CR) return true;
    }
    return false;
  }

  /** Moves unconsumed bytes to the front, so that interim responses need no more space than one head. */
  #makeRoom(): void {
    const into = this.start > 0 ? this.buffer : new Uint8Array(this.buffer.length * 2);
    into.set(this.buffer.subarray(this.start));
    this.buffer = into;
    this.end -= this.start;
    this.start = 0;
  }
}

const NOTHING = new Uint8Array(0);

const NOBODY: Sender = { onWritten() {}, onUnwritten() {} };
