import { describeError, type Logger } from "../common/log.ts";
import type { Connect } from "../net/connection/mod.ts";

/** Returns a connector that logs each attempt and its result. `peer` names the other side in the log. */
export function logConnect(connect: Connect, peer: string, log: Logger): Connect {
  return async (options) => {
    const { hostname: host, port, tls } = options;
    const startedAt = performance.now();
    try {
      const connection = await connect(options);
      log.debug("connected", {
        peer,
        host,
        port,
        tls: tls !== undefined,
        ms: Math.round(performance.now() - startedAt),
      });
      return connection;
    } catch (error) {
      log.debug("connection_failed", { peer, host, port, tls: tls !== undefined, reason: describeError(error) });
      throw error;
    }
  };
}
