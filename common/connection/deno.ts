import { describeFailure, describeTlsFailure } from "./_failure.ts";
import { systemTurn } from "./_system_turn.ts";
import {
  type Accepted,
  type AcceptOptions,
  type Acceptor,
  BACKLOG,
  type Certificate,
  type Connection,
  type Driver,
  type PlainConnection,
  type TlsOptions,
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

/**
 * What may be asked for before the system is asked what else has come: what is there already comes at once, so whoever
 * sends without end would have all others wait, and all timers. A read counts 1, and so does each 8 KiB that it may
 * bring. Accepts count for themselves: newcomers do not wait for those who are there.
 */
const IN_A_TURN = 64;
let inThisTurn = 0;

/** Whether a read into so many bytes may be asked for now; else after {@link systemTurn}. */
function mayGoOn(bytes: number): boolean {
  const before = inThisTurn;
  inThisTurn += 1 + (bytes >> 13);
  // It is not set back in each turn, which would cost a callback a turn.
  if (before < IN_A_TURN && inThisTurn >= IN_A_TURN) void systemTurn().then(() => inThisTurn = 0);
  return inThisTurn < IN_A_TURN;
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
    return mayGoOn(into.length) ? this.#read(into) : systemTurn().then(() => this.#read(into));
  }

  #read(into: Uint8Array): Promise<number | null> {
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
  // What it needs is there before descriptors can run out.
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

/** The C library, by the name that it has on most systems, and where it is musl's. */
const C_LIBRARIES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];
/** From netinet/in.h and netinet/tcp.h of Linux. */
const IPPROTO_TCP = 6;
const TCP_NODELAY = 1;
const TCP_NOTSENT_LOWAT = 25;

/**
 * The most that the system keeps for a peer beyond what is on its way to them, in bytes; without a bound it grows to
 * megabytes. 2,000 who do not read their answers then hold half a gigabyte of it, more than the system of a small
 * machine has for all its connections, and those who do read wait a fifth of a second for each answer.
 */
const UNSENT = 128 * 1024;

/**
 * What Deno has no way to ask for, of those that are accepted on a port: TCP_NODELAY in TLS, without which the second of
 * two small writes waits 40 ms for the peer's acknowledgement, and {@link UNSENT}.
 * @returns whether TCP_NODELAY is set
 */
function tuneForAccepted(port: number): boolean {
  setForAccepted(port, IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT);
  return setForAccepted(port, IPPROTO_TCP, TCP_NODELAY, 1);
}

/**
 * Sets an option of the socket that listens on a port, from which those that it accepts have it (setsockopt(2)).
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
  readonly #isTuned: boolean;
  #tls: Secured | null;
  #closed = false;
  #inARow = 0;

  /** @param isTuned whether those that are accepted have TCP_NODELAY on already */
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
    tuneForAccepted(this.port);
    return listener;
  }
}

/** Whether a peer went away before they could be accepted, which says nothing of the next one. */
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
