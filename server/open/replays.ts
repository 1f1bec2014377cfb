import type { CapturesOptions } from "../captures/mod.ts";
import type { ServerConfig } from "../config.ts";
import { Guard } from "../guard/mod.ts";
import { knowOwn, type KnowOwnOptions } from "./know_own.ts";
import { Upstream } from "../proxy/mod.ts";

/** Sends captures again. The caller closes it. */
export interface Replays {
  send: CapturesOptions["send"];
  close(): void;
}

/** Milliseconds for each address of a name. */
const CONNECT_TIMEOUT_MS = 10_000;
/** No idle connections, and as many open ones as captures may be sent at a time. */
const LIMITS = { perKey: 16, total: 16, idlePerKey: 0 };

/**
 * Opens the sender for captures. It reaches the public Internet and the hosts in `--view-replay-allow`. The proxy has
 * its own list, because other users may have access to the proxy.
 * @throws SyntaxError for a malformed entry in `--view-replay-allow`
 */
export function openReplays(options: KnowOwnOptions & { config: Pick<ServerConfig, "viewReplayAllow"> }): Replays {
  const allow = options.config.viewReplayAllow;
  const guard = new Guard({ allow, allowOption: "--view-replay-allow", ...knowOwn(options) });
  const upstream = new Upstream({ guard, connectTimeoutMs: CONNECT_TIMEOUT_MS, limits: LIMITS });
  return {
    async send(request) {
      guard.checkUrl(request.url);
      return await upstream.send(request);
    },
    close: () => upstream.close(),
  };
}
