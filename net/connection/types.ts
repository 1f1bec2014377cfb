/**
 * A byte stream to one peer, with TCP_NODELAY on. Whoever opened it closes it.
 * Both drivers behave alike; contract_test.ts holds them to it.
 */
export interface Connection {
  /**
   * Reads what is there, at least one byte, into `into`. One read at a time.
   * Returns how many bytes, or null when the peer ended its side or {@link close} was called.
   * Rejects when the connection broke.
   */
  read(into: Uint8Array): Promise<number | null>;
  /** Writes all of `bytes`, which must not change until it resolves. One write at a time. Rejects when it broke. */
  write(bytes: Uint8Array): Promise<void>;
  /** As {@link read}, told to `receiver`. Left out where a promise costs no more: {@link readFor} serves all. */
  readFor?(into: Uint8Array, receiver: Receiver): void;
  /** As {@link write}, told to `sender`. Left out likewise: {@link writeFor} serves all. */
  writeFor?(bytes: Uint8Array, sender: Sender): void;
  /**
   * Ends this side: the peer reads to the end of what was written, and may go on writing. Not while a write is pending.
   * A connection that broke already stays as it is; it never rejects.
   */
  closeWrite(): Promise<void>;
  /**
   * Has the system ask a silent peer now and then whether it is still there (TCP keepalive), so that reads of one that
   * has vanished reject: after minutes with the Node driver, after the system's own time with Deno's, two hours by
   * default. Left out where there is no such thing: in Deno's TLS, and where nothing is a socket.
   */
  keepAlive?(): void;
  /**
   * Has the system keep little of what is written beyond what is on its way to the peer: what may go before the rest is
   * then chosen when it can be sent, and not long before. Left out where nobody can ask for it; those that are accepted
   * have it from the start.
   */
  limitUnsent?(): void;
  /** Ends the connection at once, both ways. Calling it again has no effect; it never throws. */
  close(): void;
}

/** Hears of one read after the other: a promise for each would cost a busy server a twentieth of its time. */
export interface Receiver {
  /** What {@link Connection.read} resolves with. */
  onRead(count: number | null): void;
  /** What it rejects with. */
  onBroken(error: unknown): void;
}

/** Hears of one write after the other. */
export interface Sender {
  /** All of it has been written. */
  onWritten(): void;
  /** What {@link Connection.write} rejects with. */
  onUnwritten(error: unknown): void;
}

/** Reads from any connection, in the way that costs it least. */
export function readFor(connection: Connection, into: Uint8Array, receiver: Receiver): void {
  if (connection.readFor !== undefined) return connection.readFor(into, receiver);
  connection.read(into).then((count) => receiver.onRead(count), (error) => receiver.onBroken(error));
}

/** Writes to any connection, in the way that costs it least. */
export function writeFor(connection: Connection, bytes: Uint8Array, sender: Sender): void {
  if (connection.writeFor !== undefined) return connection.writeFor(bytes, sender);
  connection.write(bytes).then(() => sender.onWritten(), (error) => sender.onUnwritten(error));
}

/** Where to, and how. `port` is 1 to 65,535. */
export interface ConnectOptions {
  /** Name or address; `localhost` and the names below it try 127.0.0.1 and ::1. An IPv6 address may have brackets. */
  hostname: string;
  /** Dialled instead of what the name resolves to, by those who resolve it themselves; the certificate stays the name's. */
  address?: string;
  port: number;
  /** Speak TLS, offering http/1.1 by ALPN. */
  tls?: TlsOptions;
  /** Use the Node driver where both are there, for what Deno's does worse. */
  viaNode?: boolean;
  /** Gives the attempt up. It has no effect on a connection that is open. */
  signal?: AbortSignal;
}

/** Which certificates are taken. */
export interface TlsOptions {
  /** PEM texts trusted besides the usual ones. */
  caCerts?: readonly string[];
  /** Accept any certificate, of any name: for a service on this machine only. */
  allowSelfSigned?: boolean;
}

/**
 * Opens a connection.
 * @throws ConnectError when the peer cannot be reached or its certificate is refused.
 */
export type Connect = (options: ConnectOptions) => Promise<Connection>;

/** Why a connection could not be opened. */
export type ConnectFailure = "refused" | "not_found" | "timeout" | "tls" | "aborted" | "proxy" | "failed";

/** A connection could not be opened. `failure` tells cases apart, `message` is for people. */
export class ConnectError extends Error {
  override name = "ConnectError";
  readonly failure: ConnectFailure;

  constructor(failure: ConnectFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}

/** What a runtime must give: TCP, and TLS over it. Names, proxies and certificates of the user are handled above. */
export interface Driver {
  /**
   * Opens a plain connection with TCP_NODELAY on.
   * @throws ConnectError
   */
  openTcp(hostname: string, port: number, signal?: AbortSignal): Promise<PlainConnection>;
}

/** A connection without TLS, which can go on in TLS as SMTP's and a proxy's do. */
export interface PlainConnection extends Connection {
  /**
   * Goes on in TLS, offering http/1.1 by ALPN. No read or write may be pending; this connection is of no use after it,
   * and closed when it fails. TCP_NODELAY stays on.
   * @param hostname whose certificate is wanted
   * @throws ConnectError
   */
  startTls(hostname: string, tls: TlsOptions, signal?: AbortSignal): Promise<Connection>;
}

/** A connection that somebody opened to us. */
export interface Accepted {
  readonly connection: Connection;
  /** Address of the peer. */
  readonly remoteAddress: string;
  /**
   * Completes the TLS handshake, where there is TLS: before it nothing can be read.
   * @returns the protocol that was agreed on by ALPN, or null
   * @throws what the handshake failed with
   */
  handshake(): Promise<string | null>;
}

/** Connections that may wait to be accepted, where the system allows as many: those of a burst come again in a second. */
export const BACKLOG = 4096;

/** Takes connections on one address. */
export interface Acceptor {
  readonly hostname: string;
  readonly port: number;
  /**
   * The next connection, or null once {@link close} was called. Peers who have left meanwhile are passed over.
   * @throws what the system says when it cannot accept now, as when descriptors have run out; it may be asked again
   */
  accept(): Promise<Accepted | null>;
  /**
   * Ends TLS with another certificate from now on; connections that are open keep theirs. Only where there is TLS.
   * @throws what the system says when it cannot be used: then the one of before stays
   */
  setCertificate(pem: Certificate): void;
  /** Accepts no more. */
  close(): void;
}

/** Where connections are accepted. */
export interface AcceptOptions {
  hostname: string;
  /** 0 takes a free one. */
  port: number;
  /** PEM texts, and the protocols offered by ALPN, the preferred one first. */
  tls?: Certificate & { protocols: readonly string[] };
}

/** A certificate chain and its private key, PEM texts. */
export interface Certificate {
  cert: string;
  key: string;
}
