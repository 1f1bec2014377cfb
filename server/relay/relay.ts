import type { OriginReader } from "../../common/forwarded.ts";
import type { Exchange } from "../../common/listener/mod.ts";
import type { Logger } from "../../common/log.ts";
import { createRateLimiter } from "../../common/rate_limiter.ts";
import { SESSION_PATH } from "../../protocol/mod.ts";
import type { Presence } from "../cluster/mod.ts";
import type { ApiArea, Area, Face } from "../face/mod.ts";
import type { Store } from "../store/mod.ts";
import { EPHEMERAL_API } from "./api/ephemeral_open_api.ts";
import { createEphemeralRoutes } from "./api/ephemeral_routes.ts";
import { type TunnelHost, TunnelHosts } from "./hosts.ts";
import { openSession } from "./session/handshake.ts";
import { Sessions } from "./session/sessions.ts";
import type { Endpoint, RelayPlace } from "./tunnel/endpoint.ts";
import { EphemeralRegistry } from "./tunnel/ephemeral_registry.ts";
import { Visits } from "./visit/visits.ts";

export interface RelayOptions {
  store: Store;
  presence: Presence;
  log: Logger;
  readOrigin: OriginReader;
  /** The names that this server itself has, lower case. */
  ownHosts: readonly string[];
  /** Where ephemeral tunnels appear; scheme and port are part of their URLs. */
  ephemeralUrl: URL;
  ephemeralLifetimeMs: number;
  ephemeralBytes: number;
  /** Where persistent tunnels appear, likewise. */
  tunnelUrl: URL;
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

/** Twice a second, so that what is lost with a process that is killed was carried in its last second. */
const SWEEP_MS = 500;

/** The public side of tunnels. */
export class Relay implements Area {
  /** Visitors, below the hosts of tunnels, and then clients that open a session. */
  readonly faces: readonly Face[];
  readonly api: ApiArea;
  readonly #options: RelayOptions;
  readonly #hosts: TunnelHosts;
  readonly #ephemerals: EphemeralRegistry;
  readonly #sessions: Sessions;
  readonly #visits: Visits;
  readonly #sweeper: ReturnType<typeof setInterval>;
  #sweeping: Promise<void> | null = null;
  #fault: string | null = null;

  constructor(options: RelayOptions) {
    this.#options = options;
    const { store, presence, log, readOrigin, now = Date.now } = options;
    const place: RelayPlace = { presence, now, startedAt: now() };
    this.#hosts = new TunnelHosts({
      ephemeral: options.ephemeralUrl.hostname,
      persistent: options.tunnelUrl.hostname,
      ownHosts: options.ownHosts,
    });
    this.#ephemerals = new EphemeralRegistry(store.ephemeralTunnels, place, log);
    this.#sessions = new Sessions({ ...options, maxPerAddress: options.maxSessionsPerAddress });
    this.#visits = new Visits({
      ...options,
      getEndpoint: (host) => this.#getEndpoint(host),
      findEndpoint: (host) => this.#findEndpoint(host),
      sessions: this.#sessions,
    });
    this.faces = [
      { answer: (exchange) => this.#answerVisitor(exchange) },
      { answer: (exchange) => this.#answerClient(exchange) },
    ];
    this.api = {
      routes: createEphemeralRoutes({
        ephemerals: this.#ephemerals,
        sessions: this.#sessions,
        readOrigin,
        limiter: createRateLimiter({ burst: options.tunnelsPerMinute, perMinute: options.tunnelsPerMinute }),
        urlOf: (label) => urlBelow(options.ephemeralUrl, label),
        lifetimeMs: options.ephemeralLifetimeMs,
        bytesLimit: options.ephemeralBytes,
        maxTunnels: options.maxTunnels,
        now,
      }),
      describe: EPHEMERAL_API,
    };
    this.#sweeper = setInterval(() => this.#sweepSoon(), SWEEP_MS);
  }

  /** Whether a host, with or without port, is below a domain of tunnels. */
  isTunnelHost(host: string): boolean {
    return this.#hosts.find(host) !== null;
  }

  /** Why nothing can be stored now, or null. Tunnels that are open go on. */
  fault(): string | null {
    return this.#options.store.fault();
  }

  /** What is open now; returns to zero when nobody is there. */
  count(): { sessions: number; streams: number } {
    return this.#sessions.count();
  }

  /**
   * Takes no new sessions and visitors, and tells clients to connect elsewhere. Resolves when no request is in flight,
   * or when `signal` aborts.
   */
  drain(signal: AbortSignal): Promise<void> {
    return this.#sessions.drain(signal);
  }

  /** Ends every session and stores what is not stored yet. */
  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    this.#sessions.close();
    await this.#sweeping;
    await this.#sweep();
  }

  #answerVisitor(exchange: Exchange): ReturnType<Face["answer"]> {
    const host = this.#hosts.find(exchange.host);
    return host === null ? undefined : this.#visits.answer(exchange, host);
  }

  #answerClient(exchange: Exchange): ReturnType<Face["answer"]> {
    const { target } = exchange;
    if (target !== SESSION_PATH && !target.startsWith(`${SESSION_PATH}?`)) return undefined;
    const { readOrigin } = this.#options;
    return openSession(exchange, { ephemerals: this.#ephemerals, sessions: this.#sessions, readOrigin })
      .then(() => null);
  }

  #getEndpoint({ kind, label }: TunnelHost): Endpoint | undefined {
    return kind === "ephemeral" ? this.#ephemerals.getByLabel(label)?.endpoint : undefined;
  }

  async #findEndpoint({ kind, label }: TunnelHost): Promise<Endpoint | null> {
    return kind === "ephemeral" ? (await this.#ephemerals.findByLabel(label))?.endpoint ?? null : null;
  }

  /** A store that is slow must not gather sweeps that wait for it. */
  #sweepSoon(): void {
    this.#noteFault();
    this.#sweeping ??= this.#sweep().finally(() => this.#sweeping = null);
  }

  async #sweep(): Promise<void> {
    await this.#ephemerals.sweep();
  }

  #noteFault(): void {
    const { log } = this.#options;
    const before = this.#fault, reason = this.#fault = this.fault();
    if (reason === before) return;
    if (reason === null) return log.info("storage_works");
    log.error("storage_failed", { reason, hint: "tunnels go on, but nothing is kept and none can be made" });
  }
}

/** The URL of a label below a domain. */
function urlBelow({ protocol, host }: URL, label: string): string {
  return `${protocol}//${label}.${host}`;
}
