import type { OriginReader } from "../../common/forwarded.ts";
import type { Logger } from "../../common/log.ts";
import { SESSION_PATH } from "../../protocol/mod.ts";
import { createRateLimiter } from "../../common/rate_limiter.ts";
import type { Presence } from "../cluster/mod.ts";
import type { ApiArea, Face } from "../face/mod.ts";
import type { Store } from "../store/mod.ts";
import { createHostMatcher } from "./hosts.ts";
import { createRelayApi, openSession } from "./routes.ts";
import type { Session } from "./session.ts";
import { createSessions } from "./sessions.ts";
import { createTunnels } from "./tunnels.ts";
import { Visits } from "./visits.ts";

export interface RelayOptions {
  store: Store;
  presence: Presence<Session>;
  log: Logger;
  readOrigin: OriginReader;
  /** The name that this server itself has, lower case. */
  ownHost: string;
  /** Where ephemeral tunnels appear; scheme and port are part of their URLs. */
  ephemeralUrl: URL;
  ephemeralLifetimeMs: number;
  ephemeralBytes: number;
  tunnelsPerMinute: number;
  /** Ephemeral tunnels altogether. */
  maxTunnels: number;
  /** Requests at a time of one visitor behind a trusted proxy, whose connections say nothing of them. */
  maxRequestsPerVisitor: number;
  maxStreams: number;
  maxUpgrades: number;
  maxSessionsPerAddress: number;
  streamIdleMs: number;
  holdMs: number;
  now?: () => number;
}

/** The public side of tunnels. */
export interface Relay {
  /** Whether a host, with or without port, is below a domain of tunnels. */
  isTunnelHost(host: string): boolean;
  /** Visitors, below the hosts of tunnels. */
  visitors: Face;
  /** Clients that open a session. */
  clients: Face;
  api: ApiArea;
  /** Why nothing can be stored now, or null. Tunnels that are open go on. */
  fault(): string | null;
  /** What is open now; returns to zero when nobody is there. */
  count(): { sessions: number; streams: number };
  /**
   * Takes no new sessions and visitors, and tells clients to connect elsewhere. Resolves when no request is in flight,
   * or when `signal` aborts.
   */
  drain(signal: AbortSignal): Promise<void>;
  /** Ends every session and stores what is not stored yet. */
  close(): Promise<void>;
}

const SWEEP_MS = 1000;

export function createRelay(options: RelayOptions): Relay {
  const { store, presence, log, readOrigin, ephemeralUrl, now = Date.now } = options;
  const tunnels = createTunnels({ store: store.ephemeralTunnels, presence, log, now });
  const sessions = createSessions({
    maxStreams: options.maxStreams,
    maxUpgrades: options.maxUpgrades,
    maxPerAddress: options.maxSessionsPerAddress,
    streamIdleMs: options.streamIdleMs,
    log,
  });
  const { holdMs, maxRequestsPerVisitor } = options;
  const visits = new Visits({ tunnels, sessions, readOrigin, holdMs, maxRequestsPerVisitor });
  const hosts = createHostMatcher(ephemeralUrl.hostname, options.ownHost);
  let sweeping = Promise.resolve();
  let fault: string | null = null;
  function noteFault(): void {
    const before = fault;
    fault = store.fault();
    if (fault === before) return;
    if (fault === null) log.info("storage_works");
    else {log.error("storage_failed", {
        reason: fault,
        hint: "tunnels go on, but nothing is kept and none can be made",
      });}
  }
  const sweeper = setInterval(() => {
    noteFault();
    sweeping = sweeping.then(() => tunnels.sweep());
  }, SWEEP_MS);
  return {
    isTunnelHost: (host) => hosts.ephemeralLabel(host) !== null,
    visitors: {
      answer(exchange) {
        const label = hosts.ephemeralLabel(exchange.host);
        return label === null ? undefined : visits.answer(exchange, label);
      },
    },
    clients: {
      answer(exchange) {
        const { target } = exchange;
        if (target !== SESSION_PATH && !target.startsWith(`${SESSION_PATH}?`)) return undefined;
        return openSession(exchange, { tunnels, sessions, readOrigin }).then(() => null);
      },
    },
    api: createRelayApi({
      tunnels,
      sessions,
      readOrigin,
      limiter: createRateLimiter({ burst: options.tunnelsPerMinute, perMinute: options.tunnelsPerMinute }),
      urlOf: (label) => `${ephemeralUrl.protocol}//${label}.${ephemeralUrl.host}`,
      lifetimeMs: options.ephemeralLifetimeMs,
      bytesLimit: options.ephemeralBytes,
      maxTunnels: options.maxTunnels,
      now,
    }),
    fault: () => store.fault(),
    count: sessions.count,
    drain: sessions.drain,
    async close() {
      clearInterval(sweeper);
      sessions.close();
      await sweeping;
      await tunnels.sweep();
    },
  };
}
