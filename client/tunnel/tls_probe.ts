import type { Connect } from "../../net/connection/mod.ts";

/** Time for a handshake, after which the service is assumed to speak another protocol. */
const PROBE_MS = 3000;

/**
 * Tests whether a service without HTTP responses speaks TLS, which users often overlook.
 * @param found called once if it does
 * @returns starts the test, unless one is running or has succeeded
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
      // No TLS now; another service may listen there next time.
      isDone = false;
    }
  };
}
