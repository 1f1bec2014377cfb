import type { Connect } from "../../net/connection/mod.ts";

/** How long a handshake may take before the service is taken to speak something else. */
const PROBE_MS = 3000;

/**
 * Finds out whether a service that does not answer HTTP speaks TLS, which is what people overlook.
 * @param found called once when it does
 * @returns asks, unless it was found out or is being asked
 */
export function createTlsProbe(connect: Connect, hostname: string, port: number, found: () => void): () => void {
  let isDone = false;
  return async () => {
    if (isDone) return;
    isDone = true;
    try {
      const signal = AbortSignal.timeout(PROBE_MS);
      const connection = await connect({ hostname, port, tls: { allowSelfSigned: true }, signal });
      connection.close();
      found();
    } catch {
      // It does not; it may be another service by the next time.
      isDone = false;
    }
  };
}
