/**
 * A byte stream to one peer, with TCP_NODELAY on. The opener closes it. Both drivers pass the same contract_test.ts.
 */
export interface Connection {
  /**
   * Reads at least one byte into `into`. One read at a time. Returns the byte count, or null when the peer ended its
   * side or {@link close} was called. Rejects when the connection broke.
   */
  read(into: Uint8Array): Promise<number | null>;
  /**
   * Writes all `bytes`, which must not change until it resolves. One write at a time. Rejects when the connection
   * broke.
   */
  write(bytes: Uint8Array): Promise<void>;
  /** Like {@link read}, with callbacks. Left out where a promise costs no more: {@link readFor} supports both. */
  readFor?(into: Uint8Array, receiver: Receiver): void;
  /** Like {@link write}, with callbacks. Left out likewise: {@link writeFor} supports both. */
  writeFor?(bytes: Uint8Array, sender: Sender): void;
  /**
   * Ends this side: the peer reads all written bytes and may continue to write. Not while a write is pending. Never
   * rejects, and has no effect on a broken connection.
   */
  closeWrite(): Promise<void>;
  /**
   * Makes the system probe a silent peer (TCP keepalive), so that reads from a vanished peer reject: after minutes with
   * the Node driver, after the system's time with Deno's, two hours by default. Left out where it does not exist: in
   * Deno's TLS, and without a socket.
   */
  keepAlive?(): void;
  /**
   * Limits unsent bytes in the system, so that the sender can choose late which bytes go first. Left out where it is
   * not possible; accepted connections have it from the start.
   */
  limitUnsent?(): void;
  /** Ends the connection at once in both directions. Repeated calls have no effect; never throws. */
  close(): void;
}

/** Receives reads. A promise for each would cost a busy server a twentieth of its time. */
export interface Receiver {
  /** Gets the result of {@link Connection.read}. */
  onRead(count: number | null): void;
  /** Gets its error. */
  onBroken(error: unknown): void;
}

/** Receives the results of writes. */
export interface Sender {
  /** All bytes are written. */
  onWritten(): void;
  /** Gets the error of {@link Connection.write}. */
  onUnwritten(error: unknown): void;
}

/** Reads from any connection in the cheapest way. */
export function readFor(connection: Connection, into: Uint8Array, receiver: Receiver): void {
  if (connection.readFor !== undefined) return connection.readFor(into, receiver);
  connection.read(into).then((count) => receiver.onRead(count), (error) => receiver.onBroken(error));
}

/** Writes to any connection in the cheapest way. */
export function writeFor(connection: Connection, bytes: Uint8Array, sender: Sender): void {
  if (connection.writeFor !== undefined) return connection.writeFor(bytes, sender);
  connection.write(bytes).then(() => sender.onWritten(), (error) => sender.onUnwritten(error));
}

/** Target and options. `port` is 1 to 65,535. */
export interface ConnectOptions {
  /** Name or address; `localhost` and names below it try 127.0.0.1 and ::1. An IPv6 address may have brackets. */
  hostname: string;
  /** An address to dial instead of resolving the name; the certificate must still match the name. */
  address?: string;
  port: number;
  /** Use TLS, with http/1.1 in ALPN. */
  tls?: TlsOptions;
  /** Use the Node driver if both are available, for cases that Deno's handles worse. */
  viaNode?: boolean;
  /** Aborts the attempt. No effect on an open connection. */
  signal?: AbortSignal;
}

/** Accepted certificates. */
export interface TlsOptions {
  /** Trusted PEM texts, in addition to the usual ones. */
  caCerts?: readonly string[];
  /** Accept any certificate: only for a service on this machine. */
  allowSelfSigned?: boolean;
}

/**
 * Opens a connection.
 * @throws ConnectError when the peer is unreachable or its certificate is refused
 */
export type Connect = (options: ConnectOptions) => Promise<Connection>;

/** Reasons for a failed connection. */
export type ConnectFailure = "refused" | "not_found" | "timeout" | "tls" | "aborted" | "proxy" | "failed";

/** A failed connection attempt. `failure` distinguishes cases, `message` is for people. */
export class ConnectError extends Error {
  override name = "ConnectError";
  readonly failure: ConnectFailure;

  constructor(failure: ConnectFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}

/** A runtime's TCP and TLS. Names, proxies and the user's certificates are handled above it. */
export interface Driver {
  /**
   * Opens a plain connection with TCP_NODELAY on.
   * @throws ConnectError
   */
  openTcp(hostname: string, port: number, signal?: AbortSignal): Promise<PlainConnection>;
}

/** A plain connection that can switch to TLS, as for SMTP and proxies. */
export interface PlainConnection extends Connection {
  /**
   * Switches to TLS, with http/1.1 in ALPN. No read or write may be pending. This connection is unusable afterwards,
   * and closed after a failure. TCP_NODELAY stays on.
   * @param hostname the name for the certificate
   * @throws ConnectError
   */
  startTls(hostname: string, tls: TlsOptions, signal?: AbortSignal): Promise<Connection>;
}

/** An accepted connection. */
export interface Accepted {
  readonly connection: Connection;
  /** The peer's address. */
  readonly remoteAddress: string;
  /**
   * Completes the TLS handshake, if any; reads are possible only afterwards.
   * @returns the ALPN protocol, or null
   * @throws the handshake's error
   */
  handshake(): Promise<string | null>;
}

/**
 * Queue length for unaccepted connections, as far as the system allows: further ones in a burst retry after a second.
 */
export const BACKLOG = 4096;

/** Accepts connections on one address. */
export interface Acceptor {
  readonly hostname: string;
  readonly port: number;
  /**
   * Returns the next connection, or null after {@link close}. Skips peers that have disconnected.
   * @throws the system's error, for example without free descriptors; the caller may try again
   */
  accept(): Promise<Accepted | null>;
  /**
   * Uses another TLS certificate from now on; open connections keep theirs. Only for TLS.
   * @throws the system's error for an unusable certificate; the old one stays
   */
  setCertificate(pem: Certificate): void;
  /** Accepts no more connections. */
  close(): void;
}

/** Listening address. */
export interface AcceptOptions {
  hostname: string;
  /** 0 selects a free port. */
  port: number;
  /** PEM texts, and the ALPN protocols in order of preference. */
  tls?: Certificate & { protocols: readonly string[] };
}

/** A certificate chain and its private key, PEM texts. */
export interface Certificate {
  cert: string;
  key: string;
}
