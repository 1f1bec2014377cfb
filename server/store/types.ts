/** An ephemeral tunnel as it is kept. Times are Unix milliseconds. */
export interface EphemeralTunnel {
  /** Public name of the record, for API paths. */
  id: string;
  /** Host label under the ephemeral domain. */
  label: string;
  /** SHA-256 of the secret that its owner connects with, base64url. */
  secretHash: string;
  createdAt: number;
  expiresAt: number;
  /** Bytes carried so far, both directions. */
  bytesUsed: number;
  bytesLimit: number;
}

/** Traffic to add to a tunnel. */
export interface Traffic {
  id: string;
  bytes: number;
}

/** Ephemeral tunnels. */
export interface EphemeralTunnels {
  /** @throws LabelTaken when the label is in use */
  insert(tunnel: EphemeralTunnel): Promise<void>;
  findByLabel(label: string): Promise<EphemeralTunnel | null>;
  findById(id: string): Promise<EphemeralTunnel | null>;
  /** Adds traffic to several tunnels in one transaction; unknown ids are passed over. */
  addTraffic(traffic: readonly Traffic[]): Promise<void>;
  /** Removes those that expired before `time`, and says how many. */
  removeExpired(time: number): Promise<number>;
}

/** All state of the server that outlives a restart. */
export interface Store {
  readonly ephemeralTunnels: EphemeralTunnels;
  close(): Promise<void>;
}

/** The label of a new tunnel is in use already. */
export class LabelTaken extends Error {
  override name = "LabelTaken";
}
