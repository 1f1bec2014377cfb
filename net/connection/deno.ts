import { describeFailure, describeTlsFailure } from "./_failure.ts";
import {
  type Due,
  IN_A_TURN,
  mayRead,
  mayWrite,
  readLater,
  systemTurn,
  type Waiting,
  writeLater,
  writeSoon,
} from "./pacing/deno.ts";
import { limitUnsentBetween, tuneForAccepted } from "./socket_options/deno.ts";
import {
  type Accepted,
  type AcceptOptions,
  type Acceptor,
  BACKLOG,
  type Certificate,
  type Connection,
  type Driver,
  type PlainConnection,
  type Receiver,
  type Sender,
  type TlsOptions,
} from "./types.ts";

/** Deno's own connections. Deno's TLS accepts no self-signed certificate; the Node driver does. */
export const denoDriver: Driver = { openTcp };

async function openTcp(hostname: string, port: number, signal?: AbortSignal): Promise<PlainConnection> {
  try {
    signal?.throwIfAborted();
    const conn = await Deno.connect({ hostname, port, signal });
    conn.setNoDelay(true);
    return new DenoPlainConnection(conn);
  } catch (error) {
    throw describeFailure(`cannot connect to ${hostname} port ${port}`, error, signal);
  }
}

class DenoConnection<T extends Deno.Conn = Deno.Conn> implements Connection, Due, Waiting {
  protected readonly conn: T;
  #closed = false;
  /** Belongs to the pending read, at most one; likewise for the write. */
  #into: Uint8Array = NOTHING;
  #receiver: Receiver | null = null;
  #bytes: Uint8Array = NOTHING;
  #sender: Sender | null = null;
  /** Whether the write has not started yet. */
  #isDue = false;

  constructor(conn: T) {
    this.conn = conn;
  }

  protected get isClosed(): boolean {
    return this.#closed;
  }

  read(into: Uint8Array): Promise<number | null> {
    return new Promise((resolve, reject) => this.readFor(into, { onRead: resolve, onBroken: reject }));
  }

  readFor(into: Uint8Array, receiver: Receiver): void {
    if (this.#receiver !== null) throw new Error("a read is under way");
    this.#into = into;
    this.#receiver = receiver;
    if (mayRead(into.length)) this.goOn();
    else readLater(this);
  }

  goOn(): void {
    if (this.#closed) queueMicrotask(() => this.#onRead(null));
    else this.conn.read(this.#into).then(this.#onRead, this.#onReadError);
  }

  // One callback per connection, not per read.
  readonly #onRead = (count: number | null): void => this.#endRead()?.onRead(count);

  readonly #onReadError = (error: unknown): void => {
    // Many TLS servers end without a TLS notification. Where that matters, the body length decides.
    if (this.#closed || error instanceof Deno.errors.UnexpectedEof) this.#onRead(null);
    else this.#endRead()?.onBroken(error);
  };

  #endRead(): Receiver | null {
    const receiver = this.#receiver;
    this.#receiver = null;
    this.#into = NOTHING;
    return receiver;
  }

  write(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => this.writeFor(bytes, { onWritten: resolve, onUnwritten: reject }));
  }

  writeFor(bytes: Uint8Array, sender: Sender): void {
    // Bytes after the head of an upgrade need not wait for it.
    if (this.#sender !== null) return void this.#sendBehind(bytes, sender);
    this.#bytes = bytes;
    this.#sender = sender;
    this.#isDue = true;
    writeSoon(this);
  }

  writeDue(): void {
    if (mayWrite(this.#bytes.length)) this.#writeNow();
    else writeLater({ goOn: () => this.#writeNow() });
  }

  #writeNow(): void {
    if (!this.#isDue) return;
    this.#isDue = false;
    this.conn.write(this.#bytes).then(this.#onWritten, this.#onWriteError);
  }

  async #sendBehind(bytes: Uint8Array, sender: Sender): Promise<void> {
    this.#writeNow();
    try {
      for (let at = 0; at < bytes.length;) at += await this.conn.write(at === 0 ? bytes : bytes.subarray(at));
    } catch (error) {
      return sender.onUnwritten(error);
    }
    sender.onWritten();
  }

  /** Usually one write suffices. */
  readonly #onWritten = (count: number): void => {
    if (count < this.#bytes.length) {
      this.#bytes = this.#bytes.subarray(count);
      this.conn.write(this.#bytes).then(this.#onWritten, this.#onWriteError);
    } else this.#endWrite()?.onWritten();
  };

  readonly #onWriteError = (error: unknown): void => this.#endWrite()?.onUnwritten(error);

  #endWrite(): Sender | null {
    const sender = this.#sender;
    this.#sender = null;
    this.#bytes = NOTHING;
    return sender;
  }

  async closeWrite(): Promise<void> {
    if (this.#closed) return;
    this.#writeNow();
    // A broken or closed connection has already ended this side.
    await this.conn.closeWrite().catch(() => {});
  }

  limitUnsent(): void {
    if (this.#closed) return;
    // The address is always a TCP address.
    const local = this.conn.localAddr as Deno.NetAddr, remote = this.conn.remoteAddr as Deno.NetAddr;
    limitUnsentBetween(local.port, remote.port);
  }

  close(): void {
    if (this.#closed) return;
    // Bytes that the system takes at once still leave.
    this.#writeNow();
    this.#closed = true;
    closeQuietly(this.conn);
  }
}

const NOTHING = new Uint8Array(0);

class DenoTcpConnection extends DenoConnection<Deno.TcpConn> {
  keepAlive(): void {
    if (this.isClosed) return;
    try {
      this.conn.setKeepAlive(true);
    } catch {
      // Some systems refuse this on a broken connection, and a read reports it.
    }
  }
}

class DenoPlainConnection extends DenoTcpConnection implements PlainConnection {
  async startTls(hostname: string, tls: TlsOptions, signal?: AbortSignal): Promise<Connection> {
    const options = { hostname, caCerts: [...tls.caCerts ?? []], alpnProtocols: ["http/1.1"] };
    let conn: Deno.TlsConn | Deno.TcpConn = this.conn;
    const giveUp = () => closeQuietly(conn);
    try {
      signal?.throwIfAborted();
      const secured = await Deno.startTls(this.conn, options);
      conn = secured;
      signal?.throwIfAborted();
      signal?.addEventListener("abort", giveUp);
      await secured.handshake();
      return new DenoConnection(secured);
    } catch (error) {
      closeQuietly(conn);
      throw describeTlsFailure(hostname, error, signal);
    } finally {
      signal?.removeEventListener("abort", giveUp);
    }
  }
}

/** TLS has closed a connection that it took over or gave up. */
function closeQuietly(conn: Deno.Conn): void {
  try {
    conn.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}

/**
 * Accepts with `Deno.listen`, and for TLS with `Deno.listenTls`; with node:tls, which needs more CPU, if that cannot
 * send at once.
 */
export async function openDenoAcceptor(options: AcceptOptions): Promise<Acceptor> {
  const { hostname, port, tls } = options;
  // Prepares descriptors before they can run out.
  await systemTurn();
  if (tls === undefined) {
    const listener = Deno.listen({ hostname, port, tcpBacklog: BACKLOG });
    return new DenoAcceptor(listener, null, tuneForAccepted((listener.addr as Deno.NetAddr).port));
  }
  const listener = listenTls(options, tls);
  if (tuneForAccepted((listener.addr as Deno.NetAddr).port)) return new DenoAcceptor(listener, tls, true);
  listener.close();
  return (await import("./node.ts")).openNodeAcceptor(options);
}

type Secured = NonNullable<AcceptOptions["tls"]>;

function listenTls(place: { hostname: string; port: number }, { cert, key, protocols }: Secured): Deno.TlsListener {
  const { hostname, port } = place;
  return Deno.listenTls({ hostname, port, cert, key, alpnProtocols: [...protocols], tcpBacklog: BACKLOG });
}

class DenoAcceptor implements Acceptor {
  readonly hostname: string;
  readonly port: number;
  /** Null until the next {@link accept} while another listener replaces it. */
  #listener: Deno.Listener<Deno.TcpConn | Deno.TlsConn> | null;
  readonly #isTuned: boolean;
  #tls: Secured | null;
  #closed = false;
  #inARow = 0;

  /** @param isTuned whether accepted connections already have TCP_NODELAY */
  constructor(listener: Deno.Listener<Deno.TcpConn> | Deno.TlsListener, tls: Secured | null, isTuned: boolean) {
    this.#listener = listener;
    this.#tls = tls;
    this.#isTuned = isTuned;
    // Both listen on TCP.
    const address = listener.addr as Deno.NetAddr;
    this.hostname = address.hostname;
    this.port = address.port;
  }

  async accept(): Promise<Accepted | null> {
    if (++this.#inARow % IN_A_TURN === 0) await systemTurn();
    while (!this.#closed) {
      const listener = this.#listener ??= this.#listenAgain();
      try {
        return accepted(await listener.accept(), this.#isTuned);
      } catch (error) {
        if (!this.#closed && listener === this.#listener && !hasLeft(error)) throw error;
      }
    }
    return null;
  }

  /**
   * Deno's listener keeps its certificate, so a new listener replaces it after the old one has ended, because Deno's
   * TLS cannot share a port. Peers that connect at that moment are refused once.
   */
  setCertificate(pem: Certificate): void {
    if (this.#tls === null || this.#closed) throw new Error("there is no TLS here");
    const tls = { ...this.#tls, ...pem };
    // Rejects an invalid pair before the old listener ends.
    listenTls({ hostname: this.hostname, port: 0 }, tls).close();
    this.#tls = tls;
    this.#listener?.close();
    this.#listener = null;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#listener?.close();
  }

  #listenAgain(): Deno.TlsListener {
    if (this.#tls === null) throw new Error("there is no TLS here");
    const listener = listenTls(this, this.#tls);
    tuneForAccepted(this.port);
    return listener;
  }
}

/** Reports whether a peer disconnected before it was accepted, which does not affect the next one. */
function hasLeft(error: unknown): boolean {
  const { NotConnected, ConnectionReset, ConnectionAborted } = Deno.errors;
  return error instanceof NotConnected || error instanceof ConnectionReset || error instanceof ConnectionAborted;
}

function accepted(conn: Deno.TcpConn | Deno.TlsConn, isTuned: boolean): Accepted {
  const { hostname } = conn.remoteAddr as Deno.NetAddr;
  if (!("handshake" in conn)) {
    if (!isTuned) conn.setNoDelay(true);
    const connection = new DenoTcpConnection(conn);
    return { connection, remoteAddress: hostname, handshake: () => Promise.resolve(null) };
  }
  const connection = new DenoConnection(conn);
  const handshake = async () => (await conn.handshake()).alpnProtocol;
  return { connection, remoteAddress: hostname, handshake };
}
