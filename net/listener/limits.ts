/** Limits for visitors. Times are whole seconds and exact to one. */
export interface ListenerLimits {
  /** For a TLS handshake. */
  handshakeSeconds: number;
  /** From a head's first byte, or the connection's start, to the head's end. */
  headSeconds: number;
  /** Between requests. Above the usual 60 s of proxies in front, so that they end first. */
  idleSeconds: number;
  /** An awaited body must average {@link bodyRate} bytes per second over this time. */
  bodySeconds: number;
  /** Bytes per second. */
  bodyRate: number;
  /** Longest pause in reading a response. */
  stallSeconds: number;
  /** Connections in total. */
  maxConnections: number;
  /** Connections per address or IPv6 /64. */
  maxConnectionsPerAddress: number;
  /** Bytes in a request head with its line and blank line; at most 65,535. */
  maxHeadBytes: number;
  /** Field lines in a request head. */
  maxFields: number;
}

/**
 * Limits for the open Internet, and defaults for the server's options. The total is unlimited here, because only the
 * server knows its descriptors.
 */
export const DEFAULT_LIMITS: ListenerLimits = {
  handshakeSeconds: 10,
  headSeconds: 15,
  idleSeconds: 75,
  bodySeconds: 30,
  bodyRate: 100,
  stallSeconds: 60,
  maxConnections: Infinity,
  maxConnectionsPerAddress: 1000,
  maxHeadBytes: 32 * 1024,
  // The relay adds some, and a client accepts 256.
  maxFields: 250,
};
