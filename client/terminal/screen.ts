/** What is shown of a tunnel that opened. */
export interface OpenedTunnel {
  id: string;
  url: string;
  /** The local service, or what is shared. */
  target: string;
  /** Unix milliseconds. */
  expiresAt: number;
  resumed: boolean;
}

/** What is shown of a persistent tunnel that opened. */
export interface OpenedPersistent {
  id: string;
  name: string;
  /** At least one. */
  ports: readonly { port: number; url: string; target: string }[];
  /** What the user has used of the month's traffic, in words and in bytes. */
  usage: { text: string; bytes: number; bytesLimit: number | null };
}

/** What is shown of one request. */
export interface CarriedLine {
  method: string;
  /** Path and query. */
  path: string;
  status: number;
  durationMs: number;
  bytes: number;
  /** Of an upgrade that was granted, as of a WebSocket: whether it begins or has ended; null for all else. */
  upgrade: "open" | "closed" | null;
  /** Where several are carried. */
  port?: number;
  /** The reason for a missing or incomplete response. */
  reason?: string | null;
}

/** What went through a tunnel, for its last line. */
export interface Summary {
  requests: number;
  /** Heads and bodies, both directions. */
  bytes: number;
}

/** Where a running tunnel shows itself: lines for people or JSON for scripts. */
export interface Screen {
  opened(tunnel: OpenedTunnel): Promise<void>;
  openedPersistent(tunnel: OpenedPersistent): Promise<void>;
  /** Something is served on the local network, at these addresses. */
  served(target: string, urls: readonly string[]): Promise<void>;
  request(line: CarriedLine): void;
  reconnecting(reason: string, delayMs: number): void;
  reconnected(): void;
  /** A sentence for people, on standard error. */
  note(text: string): void;
  /** Why the tunnel is over, and its sums. */
  closed(reason: string, summary: Summary): void;
  /** Resolves when everything has been written. */
  flush(): Promise<void>;
}
