import { Slabs } from "../../common/buffers/slabs.ts";
import { type Connection, readFor, type Receiver, type Sender, writeFor } from "../connection/mod.ts";
import { CR, LF, MAX_RESPONSE_HEAD, parseResponseHead, type RequestFacts, type ResponseHead } from "../http1/mod.ts";
import { ConnectionBroken } from "./types.ts";

/** Bytes read at a time for heads and small answers: most fit whole. */
const BUFFER_BYTES = 16 * 1024;
/** Bytes for a request's head: those of browsers have 500 to 2,000. */
const SCRATCH_BYTES = 4 * 1024;
/** What a connection that ends had may still be on its way to somebody: the garbage collector frees it. */
const buffers = new Slabs(BUFFER_BYTES, 16), scratches = new Slabs(SCRATCH_BYTES, 16);
/** Times that a head which is not whole is parsed again for whatever came; then only when a blank line has come. */
const EAGER_PARSES = 8;

/** Takes what a connection reads: callbacks, as a promise a read would cost a busy tunnel a twentieth of its time. */
export interface Reader {
  /** `count` bytes came, the last ones in the connection's buffer; or null: the upstream ended its side. */
  onRead(connection: UpstreamConnection, count: number | null): void;
  /** The connection broke. Nothing more is told of it. */
  onBroken(connection: UpstreamConnection, error: ConnectionBroken): void;
}

/**
 * A connection to an upstream that carries one HTTP/1.1 request after the other. While it waits for its next one a read
 * is pending, so that an upstream that closes it is noticed before a request goes there.
 */
export class UpstreamConnection {
  /** The pool's key: connections of one key take each other's place. */
  readonly key: string;
  /** What has been read and not been taken: `buffer[start, end)`. */
  buffer: Uint8Array<ArrayBuffer> = buffers.cut();
  start = 0;
  end = 0;
  /** Whether a byte of the answer under way has come. */
  hasResponded = false;
  /** Whether it has carried a request before: such a one may end just as the next request goes out. */
  isKept = false;
  /** When it was last used, by `performance.now()`. */
  idleSince = 0;
  /** Milliseconds that the upstream says it keeps the connection. */
  keepMs = Infinity;
  readonly #connection: Connection;
  readonly #onClosed: (connection: UpstreamConnection) => void;
  readonly #onHeard: (connection: UpstreamConnection) => void;
  #scratch: Uint8Array<ArrayBuffer> | null = null;
  #reader: Reader | null = null;
  #isReading = false;
  #isClosed = false;
  /** Bytes that the last read brought, and how often the head in the buffer was found to be cut short. */
  #came = 0;
  #cutParses = 0;

  /** Whether the buffer holds the whole response with this head. */
  isWhole({ framing, end, length }: ResponseHead): boolean {
    return framing === "none" || (framing === "length" && this.end >= end + length);
  }

  /**
   * @param onClosed called once, when the connection is closed from this side
   * @param onHeard called when the first answer begins to come
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

  /** Reads more behind what is in {@link buffer}, or goes on with the read under way. One reader at a time. */
  read(reader: Reader): void {
    this.#reader = reader;
    if (this.#isReading) return;
    if (this.end === this.buffer.length) this.#makeRoom();
    this.#startRead();
  }

  /**
   * {@link read} as a promise: how many bytes came, or null when the upstream has ended the connection.
   * @throws ConnectionBroken
   */
  fill(): Promise<number | null> {
    return new Promise((resolve, reject) => {
      this.read({ onRead: (_, count) => resolve(count), onBroken: (_, error) => reject(error) });
    });
  }

  /**
   * Parses the head at {@link start}; to be called once a read, and again behind each head that was taken. A head that
   * comes byte by byte is not parsed again for each, which would cost the square of its length.
   * @returns null when it is not whole yet
   * @throws ResponseSyntaxError
   */
  parseHead(request: RequestFacts): ResponseHead | null {
    if (this.#cutParses > EAGER_PARSES && !this.#mayEndHead()) return null;
    const head = parseResponseHead(this.buffer, this.start, this.end, request);
    this.#cutParses = head === null ? this.#cutParses + 1 : 0;
    return head;
  }

  /** Reads into other memory; only when {@link buffer} has been taken to its end. @throws what the driver throws */
  readInto(into: Uint8Array): Promise<number | null> {
    return this.#connection.read(into);
  }

  /** Writes all of `bytes`, which must not change until it resolves. Rejects with what the driver throws. */
  write(bytes: Uint8Array): Promise<void> {
    return this.#connection.write(bytes);
  }

  /** Writes what need not be waited for: a connection that breaks ends its read too, and that side deals with it. */
  send(bytes: Uint8Array): void {
    writeFor(this.#connection, bytes, NOBODY);
  }

  /** Memory for the head of one request after the other, of 4 KiB. */
  get scratch(): Uint8Array<ArrayBuffer> {
    return this.#scratch ??= scratches.cut();
  }

  /** Empties the buffer and begins to read; `reader` is told when the upstream says anything before it is asked. */
  watch(reader: Reader): void {
    this.start = this.end = 0;
    this.hasResponded = false;
    this.isKept = true;
    // A large head is an exception: hundreds of idle connections do not keep room for one.
    if (this.buffer.length > BUFFER_BYTES) this.buffer = buffers.cut();
    this.#reader = reader;
    this.#startRead();
  }

  /**
   * The connection as it is, for another protocol that begins behind the last head: what has been read and not been
   * taken is read first. This one is of no use then, except that closing either closes both.
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
    readFor(this.#connection, into, this.#receiver);
  }

  // Made once a connection, not once a read.
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

  /** Whether a line that ended in the last bytes that came is blank; or there is more than a head may have. */
  #mayEndHead(): boolean {
    const { buffer, start, end } = this;
    if (end - start >= MAX_RESPONSE_HEAD) return true;
    for (let at = Math.max(end - this.#came, start + 2); at < end; at++) {
      if (buffer[at] === LF && buffer[at - 2] === LF && buffer[at - 1] === CR) return true;
    }
    return false;
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

const NOTHING = new Uint8Array(0);

const NOBODY: Sender = { onWritten() {}, onUnwritten() {} };
