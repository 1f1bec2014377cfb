import type { OriginReader } from "../../net/forwarded.ts";
import type { Exchange } from "../../net/listener/mod.ts";
import { later } from "../../common/later.ts";
import type { Logger } from "../../common/log.ts";
import { createRateLimiter } from "../../common/rate_limiter.ts";
import { GoAwayReason, NoticeCode, SESSION_PATH } from "../../protocol/mod.ts";
import type { Authenticate, Ended } from "../access/mod.ts";
import type { Presence } from "../cluster/mod.ts";
import type { Area, Handler } from "../http/mod.ts";
import type { Store } from "../store/mod.ts";
import { createEphemeralHandler } from "./api/ephemeral_handler.ts";
import type { TunnelService } from "./service.ts";
import { TunnelHosts, Visits } from "./visit/visits.ts";
import { acceptSession, describeUse } from "./session/handshake.ts";
import { type AccountChecks, Recheck } from "./session/recheck.ts";
import type { SessionUser } from "./session/session.ts";
import { Sessions } from "./session/sessions.ts";
import type { Allowance } from "./tunnel/allowance.ts";
import { type Gate, Gates, type RelayContext } from "./tunnel/endpoint.ts";
import { drainingGate } from "./tunnel/gates/draining.ts";
import { createGates } from "./tunnel/gates/list.ts";
import { EphemeralRegistry } from "./tunnel/ephemeral_registry.ts";
import { PersistentRegistry } from "./tunnel/persistent_registry.ts";
import { UsageSaver } from "./tunnel/usage_saver.ts";

/** What the relay needs of the server, and its limits. Names that end in `Ms` are milliseconds. */
export interface RelayOptions extends AccountChecks {
  store: Store;
  presence: Presence;
  authenticate: Authenticate;
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
  /** Bytes that each user of an account may carry a month through persistent tunnels. */
  monthlyBytes: number;
  /** Persistent tunnels of one account. */
  maxTunnelsPerAccount: number;
  tunnelsPerMinute: number;
  /** Ephemeral tunnels altogether. */
  maxTunnels: number;
  /** Requests at a time of one visitor over HTTP/2 or behind a trusted proxy, where connections say nothing of them. */
  maxRequestsPerVisitor: number;
  maxStreams: number;
  maxUpgrades: number;
  maxSessionsPerAddress: number;
  streamIdleMs: number;
  holdMs: number;
  /** Gates that follow the relay's own. */
  gates?: readonly Gate[];
  now?: () => number;
}

/** Twice a second, so that what is lost with a process that is killed was carried in its last second. */
const SWEEP_MS = 500;

/** The public side of tunnels. */
export class Relay implements Area {
  /** Visitors, below the hosts of tunnels, and then clients that open a session or make an ephemeral tunnel. */
  readonly handlers: readonly Handler[];
  readonly #options: RelayOptions;
  readonly #hosts: TunnelHosts;
  readonly #gates: Gates;
  readonly #ephemerals: EphemeralRegistry;
  readonly #persistents: PersistentRegistry;
  readonly #sessions: Sessions;
  readonly #saver: UsageSaver;
  readonly #recheck: Recheck;
  readonly #sweeper: ReturnType<typeof setInterval>;
  #sweeping: Promise<void> | null = null;
  #fault: string | null = null;

  constructor(options: RelayOptions) {
    this.#options = options;
    const { store, presence, log, tunnelUrl, now = Date.now } = options;
    const gates = this.#gates = new Gates([...createGates(options), ...options.gates ?? []]);
    const context: RelayContext = { presence, gates, now, startedAt: now() };
    this.#hosts = new TunnelHosts({
      ephemeral: options.ephemeralUrl.hostname,
      persistent: tunnelUrl.hostname,
      ownHosts: options.ownHosts,
    });
    const { persistentTunnels, usage, ephemeralTunnels } = store;
    this.#ephemerals = new EphemeralRegistry(ephemeralTunnels, context, log);
    const { monthlyBytes } = options;
    const registry = this.#persistents = new PersistentRegistry({
      store: persistentTunnels,
      usage,
      context,
      monthlyBytes,
    });
    const sessions = this.#sessions = new Sessions({ ...options, maxPerAddress: options.maxSessionsPerAddress });
    this.#saver = new UsageSaver({ usage, registry, now, log, onLow: (allowance) => this.#warn(allowance) });
    this.#recheck = new Recheck({ sessions, registry, store: persistentTunnels, accounts: options, now, log });
    this.handlers = this.#createHandlers();
    this.#sweeper = setInterval(() => this.#sweepSoon(), SWEEP_MS);
  }

  /** Whether a host, with or without port, is below a domain of tunnels. */
  isTunnelHost(host: string): boolean {
    return this.#hosts.find(host) !== null;
  }

  /** Whether there is a tunnel at a host. Throws what the store throws. */
  async hasTunnelAt(host: string): Promise<boolean> {
    const found = this.#hosts.find(host);
    return found !== null && await this.#sources()[found.kind].findEndpoint(found.label) !== null;
  }

  /** Loads what members of accounts do with their tunnels. */
  async openService(): Promise<TunnelService> {
    const { openService }: typeof import("./service.ts") = await import(later("./service.ts"));
    const { maxTunnelsPerAccount: maxPerAccount, tunnelUrl, now = Date.now } = this.#options;
    const urlOf = (label: string) => urlBelow(tunnelUrl, label);
    return openService({ ...this.#options, registry: this.#persistents, urlOf, maxPerAccount, now });
  }

  /** Why nothing can be stored now, or null. Tunnels that are open go on. */
  fault(): string | null {
    return this.#options.store.failing();
  }

  /** What is open now; returns to zero when nobody is there. */
  count(): { sessions: number; streams: number } {
    return this.#sessions.count();
  }

  /**
   * Ends at once what is open on this server of who may not go on. Other servers find out for themselves in some seconds
   * who was suspended. Sessions of a login whose place another one took go on, as of that one.
   */
  endSessionsOf(ended: Ended): void {
    for (const session of this.#sessions.ofMembers()) {
      if (!isOf(ended, session.user)) continue;
      if ("successor" in ended && ended.successor !== undefined) {
        session.user.login = ended.successor;
        continue;
      }
      session.end(GoAwayReason.disabled, explainEnded(ended));
    }
  }

  /**
   * Takes no new sessions and visitors, and tells clients to connect elsewhere. Resolves when no request is in flight,
   * or when `signal` aborts.
   */
  drain(signal: AbortSignal): Promise<void> {
    this.#gates.prepend(drainingGate);
    return this.#sessions.drain(signal);
  }

  /** Ends every session and stores what is not stored yet. */
  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    this.#sessions.close();
    await this.#sweeping;
    await this.#sweep();
  }

  #createHandlers(): Handler[] {
    const visits = new Visits({
      ...this.#options,
      hosts: this.#hosts,
      sources: this.#sources(),
    });
    const sessions: Handler = {
      prefix: SESSION_PATH,
      handle: (exchange) => isSession(exchange) ? this.#openSession(exchange) : undefined,
    };
    return [visits, sessions, this.#createEphemeralHandler()];
  }

  #sources() {
    return { ephemeral: this.#ephemerals, persistent: this.#persistents };
  }

  #createEphemeralHandler(): Handler {
    const { tunnelsPerMinute, ephemeralUrl, now = Date.now } = this.#options;
    return createEphemeralHandler({
      ...this.#options,
      ephemerals: this.#ephemerals,
      sessions: this.#sessions,
      limiter: createRateLimiter({ burst: tunnelsPerMinute, perMinute: tunnelsPerMinute }),
      urlOf: (label) => urlBelow(ephemeralUrl, label),
      lifetimeMs: this.#options.ephemeralLifetimeMs,
      bytesLimit: this.#options.ephemeralBytes,
      now,
    });
  }

  async #openSession(exchange: Exchange): Promise<null> {
    const { authenticate, readOrigin, store } = this.#options;
    await acceptSession(exchange, {
      ephemerals: this.#ephemerals,
      persistents: this.#persistents,
      store: store.persistentTunnels,
      sessions: this.#sessions,
      authenticate,
      readOrigin,
    });
    return null;
  }

  /** Tells the clients of a user who has little left. */
  #warn(allowance: Allowance): void {
    const { accountId, userId } = allowance.user;
    for (const session of this.#sessions.ofMembers()) {
      const { user } = session;
      if (user.accountId !== accountId || user.userId !== userId) continue;
      session.notify(NoticeCode.allowanceLow, describeUse(allowance));
    }
  }

  /** A store that is slow must not gather sweeps that wait for it. */
  #sweepSoon(): void {
    this.#noteFault();
    this.#sweeping ??= this.#sweep().finally(() => this.#sweeping = null);
  }

  async #sweep(): Promise<void> {
    await this.#ephemerals.sweep();
    await this.#saver.save();
    this.#persistents.sweep();
    await this.#recheck.run();
  }

  #noteFault(): void {
    const { log } = this.#options;
    const before = this.#fault, reason = this.#fault = this.fault();
    if (reason === before) return;
    if (reason === null) return log.info("storage_works");
    log.error("storage_failed", { reason, hint: "tunnels go on, but nothing is kept and none can be made" });
  }
}

function isSession({ path }: Exchange): boolean {
  return path === SESSION_PATH || path.startsWith(`${SESSION_PATH}?`);
}

/** The URL of a label below a domain. */
function urlBelow({ protocol, host }: URL, label: string): string {
  return `${protocol}//${label}.${host}`;
}

function isOf(ended: Ended, { userId, accountId, login }: SessionUser): boolean {
  // A login that switched to another account keeps its tunnels: its user is still a member of the first.
  if ("leftAccountId" in ended) return false;
  if ("login" in ended) return login === ended.login;
  return userId === ended.userId && (ended.accountId === null || accountId === ended.accountId);
}

/** Returns the reason that the client shows its user. */
function explainEnded(ended: Ended): string {
  if ("userId" in ended) return "your user may not use this tunnel any more";
  if ("leftAccountId" in ended) return "this login was switched to another account";
  return "the login or token of this client was revoked: log in again";
}
