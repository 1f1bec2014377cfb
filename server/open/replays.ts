import type { CapturesOptions } from "../captures/mod.ts";
import type { ServerConfig } from "../config.ts";
import { Guard } from "../guard/mod.ts";
import { knowOwn, type KnowOwnOptions } from "./know_own.ts";
import { Upstream } from "../proxy/mod.ts";

/** Sends captures again. Whoever opened it closes it. */
export interface Replays {
  send: CapturesOptions["send"];
  close(): void;
}

/** Each address that a name has is given so long. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Nothing is kept for a next request; more than may be sent at a time need no connection. */
const LIMITS = { perKey: 16, total: 16, idlePerKey: 0 };

/**
 * What sends captures to where members want them: to the public Internet and what `--view-replay-allow` adds, which is
 * not what the proxy may reach, as that may be for others.
 * @throws SyntaxError for an entry of `--view-replay-allow` that cannot be read
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
