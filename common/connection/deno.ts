import { describeFailure, describeTlsFailure } from "./_failure.ts";
import type {
  Accepted,
  AcceptOptions,
  Acceptor,
  Certificate,
  Connection,
  Driver,
  PlainConnection,
  TlsOptions,
} from "./types.ts";

/** Connections of Deno's own. Its TLS takes no self-signed certificate; the Node driver does. */
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

class DenoConnection<T extends Deno.Conn = Deno.Conn> implements Connection {
  protected readonly conn: T;
  #closed = false;

  constructor(conn: T) {
    this.conn = conn;
  }

  protected get isClosed(): boolean {
    return this.#closed;
  }

  read(into: Uint8Array): Promise<number | null> {
    return this.#closed ? Promise.resolve(null) : this.conn.read(into).catch(this.#onReadError);
  }

  readonly #onReadError = (error: unknown): null => {
    // Many TLS servers end without saying so in TLS. Where that matters the length of the body tells.
    if (this.#closed || error instanceof Deno.errors.UnexpectedEof) return null;
    throw error;
  };

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = await this.conn.write(bytes); at < bytes.length;) at += await this.conn.write(bytes.subarray(at));
  }

  async closeWrite(): Promise<void> {
    if (this.#closed) return;
    // What broke, or was closed meanwhile, has ended this side too.
    await this.conn.closeWrite().catch(() => {});
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    closeQuietly(this.conn);
  }
}

class DenoTcpConnection extends DenoConnection<Deno.TcpConn> {
  keepAlive(): void {
    if (this.isClosed) return;
    try {
      this.conn.setKeepAlive(true);
    } catch {
      // Some systems refuse it on what has broken already, and a read tells of that.
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

/** What TLS took over, or gave up, is closed already. */
function closeQuietly(conn: Deno.Conn): void {
  try {
    conn.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}

/**
 * Accepts with `Deno.listen`, in TLS with `Deno.listenTls`: where that cannot be made to send at once, with node:tls,
 * which takes more of the processor.
 */
export async function openDenoAcceptor(options: AcceptOptions): Promise<Acceptor> {
  const { hostname, port, tls } = options;
  if (tls === undefined) return new DenoAcceptor(Deno.listen({ hostname, port }), null);
  const listener = listenTls(options, tls);
  const { port: listens } = listener.addr as Deno.NetAddr;
  if (setForAccepted(listens, IPPROTO_TCP, TCP_NODELAY, 1)) return new DenoAcceptor(listener, tls);
  listener.close();
  return (await import("./node.ts")).openNodeAcceptor(options);
}

type Secured = NonNullable<AcceptOptions["tls"]>;

function listenTls(place: { hostname: string; port: number }, { cert, key, protocols }: Secured): Deno.TlsListener {
  const { hostname, port } = place;
  return Deno.listenTls({ hostname, port, cert, key, alpnProtocols: [...protocols] });
}

/** The C library, by the name that it has on most systems, and where it is musl's. */
const C_LIBRARIES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];
/** From netinet/in.h and netinet/tcp.h of Linux. */
const IPPROTO_TCP = 6;
const TCP_NODELAY = 1;

/**
 * Sets an option of the socket that listens on a port, from which those that it accepts have it (setsockopt(2)): Deno has
 * no way to set TCP_NODELAY in TLS, and without it the second of two small writes waits 40 ms for the peer's
 * acknowledgement.
 * @returns whether it is set; on Linux alone it can be, whose numbers and libraries these are
 */
export function setForAccepted(
  port: number,
  level: number,
  option: number,
  value: number,
  os: string = Deno.build.os,
): boolean {
  if (os !== "linux" || Deno.permissions.querySync({ name: "ffi" }).state !== "granted") return false;
  try {
    const fd = findListeningSocket(port);
    return fd !== null && C_LIBRARIES.some((name) => setSocketOption(name, fd, level, option, value));
  } catch {
    // Without /proc, or the right to read it.
    return false;
  }
}

function setSocketOption(library: string, fd: number, level: number, option: number, value: number): boolean {
  try {
    const opened = Deno.dlopen(library, {
      setsockopt: { parameters: ["i32", "i32", "i32", "buffer", "u32"], result: "i32" },
    });
    const memory = new Int32Array([value]);
    const result = opened.symbols.setsockopt(fd, level, option, memory, memory.byteLength);
    opened.close();
    return result === 0;
  } catch {
    return false;
  }
}

/** This process's descriptor of the socket that listens on a port, or null. */
function findListeningSocket(port: number): number | null {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = ["tcp", "tcp6"].flatMap((table) => readText(`/proc/self/net/${table}`).split("\n"));
  // Columns: number, local and remote address, state, queues, timer, retransmits, user, timeout, inode. 0A is LISTEN.
  const sockets = rows.map((row) => row.trim().split(/\s+/))
    .filter((row) => row[1]?.endsWith(suffix) && row[3] === "0A")
    .map((row) => `socket:[${row[9]}]`);
  for (const { name } of Deno.readDirSync("/proc/self/fd")) {
    if (sockets.includes(readLink(`/proc/self/fd/${name}`))) return Number(name);
  }
  return null;
}

/** A system may lack one of them. */
function readText(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}

/** The listing has the descriptor that made the listing, which is closed by now. */
function readLink(path: string): string {
  try {
    return Deno.readLinkSync(path);
  } catch {
    return "";
  }
}

class DenoAcceptor implements Acceptor {
  readonly hostname: string;
  readonly port: number;
  /** Null until the next {@link accept}, where another is to take its place. */
  #listener: Deno.Listener<Deno.TcpConn | Deno.TlsConn> | null;
  #tls: Secured | null;
  #closed = false;

  constructor(listener: Deno.Listener<Deno.TcpConn> | Deno.TlsListener, tls: Secured | null) {
    this.#listener = listener;
    this.#tls = tls;
    // Both listen on TCP.
    const address = listener.addr as Deno.NetAddr;
    this.hostname = address.hostname;
    this.port = address.port;
  }

  async accept(): Promise<Accepted | null> {
    while (!this.#closed) {
      const listener = this.#listener ??= this.#listenAgain();
      try {
        return accepted(await listener.accept());
      } catch (error) {
        if (!this.#closed && listener === this.#listener && !hasLeft(error)) throw error;
      }
    }
    return null;
  }

  /**
   * A listener of Deno's keeps its certificate, so another one takes its place: as soon as the one of before has ended,
   * as Deno's TLS cannot share a port. Peers whose connection is not there yet at that moment are refused once.
   */
  setCertificate(pem: Certificate): void {
    if (this.#tls === null || this.#closed) throw new Error("there is no TLS here");
    const tls = { ...this.#tls, ...pem };
    // What is no pair is refused before anything is given up.
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
    setForAccepted(this.port, IPPROTO_TCP, TCP_NODELAY, 1);
    return listener;
  }
}

/** Whether a peer went away before they could be accepted, which says nothing of the next one. */
function hasLeft(error: unknown): boolean {
  const { NotConnected, ConnectionReset, ConnectionAborted } = Deno.errors;
  return error instanceof NotConnected || error instanceof ConnectionReset || error instanceof ConnectionAborted;
}

function accepted(conn: Deno.TcpConn | Deno.TlsConn): Accepted {
  const { hostname } = conn.remoteAddr as Deno.NetAddr;
  if (!("handshake" in conn)) {
    conn.setNoDelay(true);
    const connection = new DenoTcpConnection(conn);
    return { connection, remoteAddress: hostname, handshake: () => Promise.resolve(null) };
  }
  const connection = new DenoConnection(conn);
  const handshake = async () => (await conn.handshake()).alpnProtocol;
  return { connection, remoteAddress: hostname, handshake };
}
