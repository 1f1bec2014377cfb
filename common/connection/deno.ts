import { describeFailure, describeTlsFailure } from "./_failure.ts";
import type { Connection, Driver, PlainConnection, TlsOptions } from "./types.ts";

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
