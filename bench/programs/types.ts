/** A contestant's visitor address: visitors connect to 127.0.0.1 and send this Host. */
export interface Endpoint {
  port: number;
  host: string;
  /** The contestant ends TLS there, with a localhost certificate. */
  isSecure?: boolean;
}

/** A running path from a visitor to the local service. */
export interface Contestant {
  name: string;
  endpoint: Endpoint;
  /** Processes for the CPU and memory figures at each end; empty without such an end. */
  relay: readonly number[];
  client: readonly number[];
  /** Unsupported workloads, which are skipped. */
  lacks: ReadonlySet<Ability>;
  stop(): Promise<void>;
}

export type Ability = "upload" | "websocket" | "stream" | "json";

export interface ContestantOptions {
  /** The local service's port. */
  service: number;
  /** Puts a program between client and relay: takes the relay's port and returns the port for the client. */
  between?(relayPort: number): Promise<number>;
}

/** Starts a contestant and resolves once visitors get responses. */
export type StartContestant = (options: ContestantOptions) => Promise<Contestant>;
