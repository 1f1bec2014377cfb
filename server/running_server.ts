/** A running server. */
export interface RunningServer {
  /** Its public URL. */
  url: URL;
  /** The address that it listens on. */
  address: { hostname: string; port: number };
  /** The URL for metrics, or null without `--metrics`. */
  metricsUrl: URL | null;
  /**
   * Shuts down: refuses new work, notifies clients, waits up to the configured time for open requests, and stores the
   * remaining data.
   */
  drain(): Promise<void>;
  /** Shuts down without waiting. */
  close(): Promise<void>;
}
