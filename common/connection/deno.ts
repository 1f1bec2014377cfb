import { describeFailure, describeTlsFailure } from "./_failure.ts";
import type { Accepted, AcceptOptions, Acceptor, Connection, Driver, PlainConnection, TlsOptions } from "./types.ts";

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
    let at = await this.conn.write(bytes);
    while (at < bytes.length) at += await this.conn.write(bytes.subarray(at));
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

/** Accepts with `Deno.listen`, in TLS with `Deno.listenTls`. */
export function openDenoAcceptor({ hostname, port, tls }: AcceptOptions): Promise<Acceptor> {
  if (tls === undefined) return Promise.resolve(new DenoAcceptor(Deno.listen({ hostname, port })));
  const { cert, key, protocols } = tls;
  return Promise.resolve(
    new DenoAcceptor(Deno.listenTls({ hostname, port, cert, key, alpnProtocols: [...protocols] })),
  );
}

class DenoAcceptor implements Acceptor {
  readonly hostname: string;
  readonly port: number;
  readonly #listener: Deno.Listener<Deno.TcpConn | Deno.TlsConn>;
  #closed = false;

  constructor(listener: Deno.Listener<Deno.TcpConn> | Deno.TlsListener) {
    this.#listener = listener;
    // Both listen on TCP.
    const address = listener.addr as Deno.NetAddr;
    this.hostname = address.hostname;
    this.port = address.port;
  }

  async accept(): Promise<Accepted | null> {
    try {
      return accepted(await this.#listener.accept());
    } catch (error) {
      if (this.#closed) return null;
      throw error;
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#listener.close();
  }
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
