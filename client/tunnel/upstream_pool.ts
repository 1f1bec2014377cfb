import type { Connect, Connection, ConnectOptions } from "../../common/connection/mod.ts";

/** Bytes read at a time: most answers fit whole. */
const READ_SIZE = 16 * 1024;
/** Bytes for a request's head: those of browsers have 500 to 2,000. */
const SCRATCH_SIZE = 4 * 1024;
/** Connections kept for the next request. */
const MAX_IDLE = 256;
/** How long one is kept. */
const IDLE_MS = 30_000;

/** Takes what a connection reads. */
export interface Reader {
  /** `count` bytes came, or null: the service ended the connection. */
  onRead(connection: UpstreamConnection, count: number | null): void;
  onBroken(cause: unknown): void;
}

/** Whoever keeps idle connections. */
interface ConnectionOwner {
  /** This one is of no use any more. */
  drop(connection: UpstreamConnection): void;
}

/**
 * A keep-alive connection to the local service. A read is always pending, so a service that closes an idle connection
 * is noticed before the next request goes there.
 */
export class UpstreamConnection {
  /** Reads land here. */
  buffer = new Uint8Array(READ_SIZE);
  /** For the head of the request that is being sent. */
  readonly scratch = new Uint8Array(SCRATCH_SIZE);
  /** Whether it has carried a request before. */
  reused = false;
  idleSince = 0;
  readonly #connection: Connection;
  #reader: Reader | null = null;
  #reading = false;
  /** Told when it read anything while idle, which it should not have. */
  #owner: ConnectionOwner | null = null;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Reads behind the `have` bytes that are in {@link buffer} already, or goes on with the read under way. */
  read(have: number, reader: Reader): void {
    this.#reader = reader;
    this.#owner = null;
    if (!this.#reading) this.#startRead(have);
  }

  /** {@link read} as a promise. */
  readAsync(have: number): Promise<number | null> {
    return new Promise((resolve, reject) => {
      this.read(have, { onRead: (_, count) => resolve(count), onBroken: reject });
    });
  }

  /** Reads into other memory; only when no read is under way. */
  readInto(into: Uint8Array): Promise<number | null> {
    return this.#connection.read(into);
  }

  /** Makes {@link buffer} twice as large and keeps what is in it; only when no read is under way. */
  grow(): void {
    const larger = new Uint8Array(this.buffer.length * 2);
    larger.set(this.buffer);
    this.buffer = larger;
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#connection.write(bytes);
  }

  /** Ends this side: the service reads to the end of what was written. Not while a write is pending. */
  closeWrite(): Promise<void> {
    return this.#connection.closeWrite();
  }

  /** Starts the read of the next answer, and tells when the service says anything before it is asked. */
  watch(owner: ConnectionOwner): void {
    this.#reader = null;
    this.#owner = owner;
    // A large head is an exception: hundreds of idle connections do not keep room for one.
    if (this.buffer.length > READ_SIZE) this.buffer = new Uint8Array(READ_SIZE);
    this.#startRead(0);
  }

  close(): void {
    this.#connection.close();
  }

  #startRead(have: number): void {
    this.#reading = true;
    const into = have === 0 ? this.buffer : this.buffer.subarray(have);
    this.#connection.read(into).then(this.#onRead, this.#onBroken);
  }

  // Made once a connection, not once a read.
  readonly #onRead = (count: number | null): void => {
    this.#reading = false;
    if (this.#reader !== null) this.#reader.onRead(this, count);
    else this.#owner?.drop(this);
  };

  readonly #onBroken = (cause: unknown): void => {
    this.#reading = false;
    if (this.#reader !== null) this.#reader.onBroken(cause);
    else this.#owner?.drop(this);
  };
}

/** Connections to one local service. */
export class UpstreamPool {
  readonly #idle: UpstreamConnection[] = [];
  readonly #connect: Connect;
  readonly #options: ConnectOptions;
  #closed = false;
  readonly #sweeper: ReturnType<typeof setInterval>;

  constructor(connect: Connect, options: ConnectOptions) {
    this.#connect = connect;
    this.#options = options;
    this.#sweeper = setInterval(() => this.closeIdle(Date.now() - IDLE_MS), IDLE_MS / 2);
  }

  /** An idle connection, the one used last, or null. */
  take(): UpstreamConnection | null {
    return this.#idle.pop() ?? null;
  }

  /** @throws ConnectError when the service cannot be reached */
  async open(signal: AbortSignal): Promise<UpstreamConnection> {
    return new UpstreamConnection(await this.#connect({ ...this.#options, signal }));
  }

  /** Takes a connection back whose answer has been read to its end. */
  release(connection: UpstreamConnection): void {
    if (this.#closed || this.#idle.length >= MAX_IDLE) return connection.close();
    connection.reused = true;
    connection.idleSince = Date.now();
    this.#idle.push(connection);
    connection.watch(this);
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#sweeper);
    this.closeIdle(Infinity);
  }

  /** Closes an idle connection. */
  drop(connection: UpstreamConnection): void {
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    connection.close();
  }

  /** Closes those that were used last at `before` or earlier, in Unix milliseconds. */
  closeIdle(before: number): void {
    const kept = this.#idle.findIndex((connection) => connection.idleSince > before);
    const count = kept < 0 ? this.#idle.length : kept;
    for (const connection of this.#idle.splice(0, count)) connection.close();
  }
}
