/** An open tunnel as the screen shows it. */
export interface OpenedTunnel {
  id: string;
  url: string;
  /** The local service, or the shared path. */
  target: string;
  /** Unix milliseconds. */
  expiresAt: number;
  resumed: boolean;
}

/** An open persistent tunnel as the screen shows it. */
export interface OpenedPersistent {
  id: string;
  name: string;
  /** At least one. */
  ports: readonly { port: number; url: string; target: string }[];
  /** The user's traffic this month, as text and in bytes. */
  usage: { text: string; bytes: number; bytesLimit: number | null };
}

/** A request as the screen shows it. */
export interface CarriedLine {
  method: string;
  /** Path and query. */
  path: string;
  status: number;
  durationMs: number;
  bytes: number;
  /** Beginning or end for a granted upgrade, such as a WebSocket; null for other requests. */
  upgrade: "open" | "closed" | null;
  /** The port, if the tunnel has several. */
  port?: number;
  /** The reason for a missing or incomplete response. */
  reason?: string | null;
}

/** The sums for a tunnel's last line. */
export interface Summary {
  requests: number;
  /** Heads and bodies in both directions. */
  bytes: number;
}

/** The output for a running tunnel: lines for people, or JSON for scripts. */
export interface Screen {
  opened(tunnel: OpenedTunnel): Promise<void>;
  openedPersistent(tunnel: OpenedPersistent): Promise<void>;
  /** A target is available on the local network, at these addresses. */
  served(target: string, urls: readonly string[]): Promise<void>;
  request(line: CarriedLine): void;
  reconnecting(reason: string, delayMs: number): void;
  reconnected(): void;
  /** Shows a sentence for people on standard error. */
  note(text: string): void;
  /** Shows the reason for the tunnel's end, and its sums. */
  closed(reason: string, summary: Summary): void;
  /** Resolves when all output is written. */
  flush(): Promise<void>;
}
