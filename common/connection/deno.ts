import { describeFailure, describeTlsFailure } from "./_failure.ts";
import type { Accepted, Acceptor, Connection, Driver, OpenAcceptor, PlainConnection, TlsOptions } from "./types.ts";

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

class DenoPlainConnection extends DenoConnection<Deno.TcpConn> implements PlainConnection {
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
export const openDenoAcceptor: OpenAcceptor = ({ hostname, port, tls }) => {
  if (tls === undefined) return Promise.resolve(new DenoAcceptor(Deno.listen({ hostname, port })));
  const { cert, key, protocols } = tls;
  return Promise.resolve(
    new DenoAcceptor(Deno.listenTls({ hostname, port, cert, key, alpnProtocols: [...protocols] })),
  );
};

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
    for (;;) {
      try {
        return accepted(await this.#listener.accept());
      } catch (error) {
        if (this.#closed) return null;
        if (!hasLeft(error)) throw error;
      }
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#listener.close();
  }
}

/** Whether a peer went away before they could be accepted, which says nothing of the next one. */
function hasLeft(error: unknown): boolean {
  const { NotConnected, ConnectionReset, ConnectionAborted } = Deno.errors;
  return error instanceof NotConnected || error instanceof ConnectionReset || error instanceof ConnectionAborted;
}

function accepted(conn: Deno.TcpConn | Deno.TlsConn): Accepted {
  const { hostname } = conn.remoteAddr as Deno.NetAddr;
  const connection = new DenoConnection(conn);
  if (!("handshake" in conn)) {
    conn.setNoDelay(true);
    return { connection, remoteAddress: hostname, handshake: () => Promise.resolve(null) };
  }
  const handshake = async () => (await conn.handshake()).alpnProtocol;
  return { connection, remoteAddress: hostname, handshake };
}
