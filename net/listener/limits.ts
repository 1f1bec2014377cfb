/** What visitors may take of a listener. Times are whole seconds and exact to one. */
export interface ListenerLimits {
  /** For a TLS handshake. */
  handshakeSeconds: number;
  /** From the first byte of a head, or the start of a connection, to the head's end. */
  headSeconds: number;
  /** Between requests. Above the 60 s that proxies in front commonly keep theirs, so that they end first. */
  idleSeconds: number;
  /** Of a body that is waited for, {@link bodyRate} bytes a second must come on average over this time. */
  bodySeconds: number;
  /** Bytes a second. */
  bodyRate: number;
  /** How long a visitor may take nothing of an answer. */
  stallSeconds: number;
  /** Connections altogether. */
  maxConnections: number;
  /** Connections of one address, or IPv6 network of 64 bits. */
  maxConnectionsPerAddress: number;
  /** Bytes of a request's head, line and blank line included; at most 65,535. */
  maxHeadBytes: number;
  /** Field lines of a request's head. */
  maxFields: number;
}

/**
 * Limits fit for the open Internet, and the defaults of the server's options for them. Connections altogether have none
 * here: how many descriptors there are is the server's to know.
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
  // The relay adds some, and a client takes 256.
  maxFields: 250,
};
