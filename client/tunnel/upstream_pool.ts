import type { Connect, Connection, ConnectOptions } from "../connection/mod.ts";

/** Bytes read at a time: most answers fit whole. */
const READ_SIZE = 16 * 1024;
/** Bytes for a request's head: those of browsers have 500 to 2,000. */
const SCRATCH_SIZE = 4 * 1024;
/** Connections kept for the next request. */
const MAX_IDLE = 256;
/** How long one is kept. */
const IDLE_MS = 30_000;

/**
 * A keep-alive connection to the local service. A read is always pending, so a service that closes an idle connection
 * is noticed before the next request goes there.
 */
export class UpstreamConnection {
  buffer = new Uint8Array(READ_SIZE);
  /** For the head of the request that is being sent. */
  readonly scratch = new Uint8Array(SCRATCH_SIZE);
  /** Whether it has carried a request before. */
  reused = false;
  idleSince = 0;
  idle = false;
  readonly #connection: Connection;
  #pending: Promise<number | null> | null = null;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Reads behind the `have` bytes that are in {@link buffer} already. */
  read(have: number): Promise<number | null> {
    return this.takePending() ?? this.#connection.read(this.buffer.subarray(have));
  }

  /** The read that is under way, or null. Whoever takes it awaits it. */
  takePending(): Promise<number | null> | null {
    const pending = this.#pending;
    this.#pending = null;
    return pending;
  }

  /** Puts a read that is still under way back for the next call of {@link read}. */
  unread(pending: Promise<number | null>): void {
    this.#pending = pending;
  }

  /** Makes {@link buffer} twice as large and keeps what is in it. Only when no read is pending. */
  grow(): void {
    const larger = new Uint8Array(this.buffer.length * 2);
    larger.set(this.buffer);
    this.buffer = larger;
  }

  /** Reads into other memory; only when no read is pending. */
  readInto(into: Uint8Array): Promise<number | null> {
    return this.#connection.read(into);
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#connection.write(bytes);
  }

  /** Starts the read of the next answer, and tells when the service says anything before it is asked. */
  watch(onDisturbed: () => void): void {
    const reading = this.#connection.read(this.buffer);
    this.#pending = reading;
    // A rejection is no error of anyone's here: whoever uses the connection next gets it from the same promise.
    reading.then(onDisturbed, onDisturbed);
  }

  close(): void {
    this.#connection.close();
  }
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
    const connection = this.#idle.pop() ?? null;
    if (connection !== null) connection.idle = false;
    return connection;
  }

  /** @throws ConnectError when the service cannot be reached */
  async open(signal: AbortSignal): Promise<UpstreamConnection> {
    return new UpstreamConnection(await this.#connect({ ...this.#options, signal }));
  }

  /** Takes a connection back whose answer has been read to its end. */
  release(connection: UpstreamConnection): void {
    if (this.#closed || this.#idle.length >= MAX_IDLE) return connection.close();
    connection.idle = connection.reused = true;
    connection.idleSince = Date.now();
    this.#idle.push(connection);
    connection.watch(() => this.#drop(connection));
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#sweeper);
    this.closeIdle(Infinity);
  }

  #drop(connection: UpstreamConnection): void {
    if (!connection.idle) return;
    this.#idle.splice(this.#idle.indexOf(connection), 1);
    connection.close();
  }

  /** Closes those that were used last at `before` or earlier, in Unix milliseconds. */
  closeIdle(before: number): void {
    const kept = this.#idle.findIndex((connection) => connection.idleSince > before);
    const count = kept < 0 ? this.#idle.length : kept;
    for (const connection of this.#idle.splice(0, count)) {
      // Its read ends now, and must not take another out of the pool in its stead.
      connection.idle = false;
      connection.close();
    }
  }
}
