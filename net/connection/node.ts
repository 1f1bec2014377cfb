import net from "node:net";
import tls, { rootCertificates } from "node:tls";
import { describeAbort, describeFailure, describeTlsFailure } from "./_failure.ts";
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

/** Connections through node:net and node:tls, which Deno has as well. */
export const nodeDriver: Driver = { openTcp };

/** Silence before the system sends its first probe. */
const KEEP_ALIVE_MS = 60_000;

async function openTcp(hostname: string, port: number, signal?: AbortSignal): Promise<PlainConnection> {
  const attempt = `cannot connect to ${hostname} port ${port}`;
  if (signal?.aborted) throw describeAbort(attempt, signal);
  const socket = net.connect({ host: hostname, port, noDelay: true, allowHalfOpen: true });
  try {
    await ready(socket, "connect", signal);
    return new NodePlainConnection(socket);
  } catch (error) {
    throw describeFailure(attempt, error, signal);
  }
}

/** Waits for the socket's `event`, and destroys the socket if another one comes first. */
async function ready(socket: net.Socket, event: string, signal?: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fail = (error: Error) => reject(error);
  const giveUp = () => reject(signal?.reason);
  const closed = () => reject(new Error("the peer closed the connection"));
  socket.once(event, resolve).on("error", fail).once("close", closed);
  signal?.addEventListener("abort", giveUp);
  if (signal?.aborted) giveUp();
  try {
    await promise;
  } catch (error) {
    // The error listener stays, because no other code would handle a later error.
    socket.destroy();
    throw error;
  } finally {
    socket.off(event, resolve).off("close", closed);
    signal?.removeEventListener("abort", giveUp);
  }
}

class NodeConnection implements Connection {
  protected readonly socket: net.Socket;
  #error: Error | undefined;
  #ended = false;
  /** Wakes the pending read. */
  #wake: (() => void) | undefined;

  constructor(socket: net.Socket) {
    this.socket = socket;
    socket.on("error", this.#onError).on("readable", this.#onReadable).on("end", this.#onEnd).on("close", this.#onEnd);
  }

  /** Gives the socket to a new owner. */
  protected release(): void {
    const { socket } = this;
    socket.off("readable", this.#onReadable).off("end", this.#onEnd).off("close", this.#onEnd);
  }

  #onError = (error: Error) => {
    this.#error ??= error;
    this.#wake?.();
  };

  #onReadable = () => this.#wake?.();

  #onEnd = () => {
    this.#ended = true;
    this.#wake?.();
  };

  async read(into: Uint8Array): Promise<number | null> {
    while (true) {
      if (this.socket.destroyed && this.#error === undefined) return null;
      const taken = this.#take(into);
      if (taken > 0) return taken;
      if (this.#error !== undefined) throw this.#error;
      if (this.#ended) return null;
      await new Promise<void>((resolve) => this.#wake = resolve);
      this.#wake = undefined;
    }
  }

  #take(into: Uint8Array): number {
    const size = Math.min(into.length, this.socket.readableLength);
    // A read without a size makes the stream continue, or report its end.
    const chunk: Uint8Array | null = this.socket.read(size);
    if (chunk === null || size === 0) return 0;
    into.set(chunk);
    return chunk.length;
  }

  write(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      this.socket.write(bytes, (error) => error ? reject(error) : resolve());
    });
  }

  closeWrite(): Promise<void> {
    return new Promise((resolve) => {
      if (this.socket.destroyed || this.socket.writableEnded) return resolve();
      this.socket.once("close", () => resolve()).end(() => resolve());
    });
  }

  keepAlive(): void {
    this.socket.setKeepAlive(true, KEEP_ALIVE_MS);
  }

  close(): void {
    this.socket.destroy();
  }
}

class NodePlainConnection extends NodeConnection implements PlainConnection {
  async startTls(hostname: string, options: TlsOptions, signal?: AbortSignal): Promise<Connection> {
    this.release();
    const socket = tls.connect({
      socket: this.socket,
      host: hostname,
      // An address is not a server name (RFC 6066, section 3).
      servername: net.isIP(hostname) ? "" : hostname,
      ALPNProtocols: ["http/1.1"],
      rejectUnauthorized: !options.allowSelfSigned,
      ...(options.caCerts?.length && { ca: [...usualCertificates(), ...options.caCerts] }),
    });
    try {
      await ready(socket, "secureConnect", signal);
      return new NodeConnection(socket);
    } catch (error) {
      this.close();
      throw describeTlsFailure(hostname, error, signal);
    }
  }
}

/** The certificates that `ca` replaces. Node before 22.15 can list only the built-in ones. */
function usualCertificates(): readonly string[] {
  return "getCACertificates" in tls ? tls.getCACertificates("default") : rootCertificates;
}

/** Accepts with node:net, and with node:tls for TLS. */
export async function openNodeAcceptor({ hostname, port, tls: secured }: AcceptOptions): Promise<Acceptor> {
  const server = net.createServer({ allowHalfOpen: true, noDelay: true });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen({ port, host: hostname, backlog: BACKLOG }, resolve);
  });
  return new NodeAcceptor(server, secured);
}

class NodeAcceptor implements Acceptor {
  readonly hostname: string;
  readonly port: number;
  readonly #server: net.Server;
  #tls: AcceptOptions["tls"];
  readonly #arrived: net.Socket[] = [];
  #failure: Error | null = null;
  #closed = false;
  #wake = () => {};

  constructor(server: net.Server, secured: AcceptOptions["tls"]) {
    this.#server = server;
    this.#tls = secured;
    // A TCP server has this kind of address.
    const address = server.address() as net.AddressInfo;
    this.hostname = address.address;
    this.port = address.port;
    server.on("connection", (socket) => {
      // A reset before the first read has no other handler.
      socket.on("error", () => {});
      this.#arrived.push(socket);
      this.#wake();
    });
    server.on("error", (error) => {
      this.#failure = error;
      this.#wake();
    });
  }

  async accept(): Promise<Accepted | null> {
    for (;;) {
      const socket = this.#arrived.shift();
      if (socket !== undefined) return accepted(socket, this.#tls);
      if (this.#closed) return null;
      const failure = this.#failure;
      this.#failure = null;
      if (failure !== null) throw failure;
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }

  setCertificate(pem: Certificate): void {
    if (this.#tls === undefined) throw new Error("there is no TLS here");
    tls.createSecureContext(pem);
    this.#tls = { ...this.#tls, ...pem };
  }

  close(): void {
    this.#closed = true;
    this.#server.close();
    for (const socket of this.#arrived) socket.destroy();
    this.#arrived.length = 0;
    this.#wake();
  }
}

function accepted(socket: net.Socket, secured: AcceptOptions["tls"]): Accepted {
  const remoteAddress = socket.remoteAddress ?? "";
  if (secured === undefined) {
    return { connection: new NodeConnection(socket), remoteAddress, handshake: () => Promise.resolve(null) };
  }
  const { cert, key, protocols } = secured;
  const tlsSocket = new tls.TLSSocket(socket, { isServer: true, cert, key, ALPNProtocols: [...protocols] });
  return {
    connection: new NodeConnection(tlsSocket),
    remoteAddress,
    async handshake() {
      await ready(tlsSocket, "secure");
      return tlsSocket.alpnProtocol || null;
    },
  };
}
