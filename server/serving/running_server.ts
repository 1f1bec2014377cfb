/** A server that runs. */
export interface RunningServer {
  /** Its public URL. */
  url: URL;
  /** Where it listens. */
  address: { hostname: string; port: number };
  /** Where its metrics are, when they are told. */
  metricsUrl: URL | null;
  /**
   * Takes nothing new, tells clients, waits for what is in flight up to the configured time, stores what is not
   * stored, and ends.
   */
  drain(): Promise<void>;
  /** {@link drain} without the waiting. */
  close(): Promise<void>;
}
