/** Where visitors reach a contestant: they connect to 127.0.0.1 and say the Host. */
export interface Endpoint {
  port: number;
  host: string;
  /** TLS is ended there, with a certificate of localhost's. */
  isSecure?: boolean;
}

/** A running way from a visitor to the local service. */
export interface Contestant {
  name: string;
  endpoint: Endpoint;
  /** Processes whose CPU and memory count for each end; empty where there is no such end. */
  relay: readonly number[];
  client: readonly number[];
  /** What it cannot carry; those workloads are left out. */
  lacks: ReadonlySet<Ability>;
  stop(): Promise<void>;
}

export type Ability = "upload" | "websocket" | "stream" | "json";

export interface ContestantOptions {
  /** Port of the local service. */
  service: number;
  /** Puts something between client and relay: given the relay's port, the port that the client shall use. */
  between?(relayPort: number): Promise<number>;
}

/** Starts a contestant and resolves once visitors get answers. */
export type StartContestant = (options: ContestantOptions) => Promise<Contestant>;
