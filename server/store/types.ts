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
  /** How many expire after `time`. */
  count(time: number): Promise<number>;
}

/** All state of the server that outlives a restart. Its methods throw {@link StoreUnavailable} while it fails. */
export interface Store {
  /** Why nothing can be kept now, or null: the disk is full, or somebody deleted the database. */
  fault(): string | null;
  readonly ephemeralTunnels: EphemeralTunnels;
  close(): Promise<void>;
}

/** What was asked could not be read or kept: for reasons of the machine, not of ours. */
export class StoreUnavailable extends Error {
  override name = "StoreUnavailable";
}

/** The label of a new tunnel is in use already. */
export class LabelTaken extends Error {
  override name = "LabelTaken";
}
