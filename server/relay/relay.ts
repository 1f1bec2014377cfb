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

/** The relay's dependencies and limits. Names that end in `Ms` are milliseconds. */
export interface RelayOptions extends AccountChecks {
  store: Store;
  presence: Presence;
  authenticate: Authenticate;
  log: Logger;
  readOrigin: OriginReader;
  /** The server's own host names, in lower case. */
  ownHosts: readonly string[];
  /** The URL below whose host ephemeral tunnels appear, with their scheme and port. */
  ephemeralUrl: URL;
  ephemeralLifetimeMs: number;
  ephemeralBytes: number;
  /** The same for persistent tunnels. */
  tunnelUrl: URL;
  /** Bytes that each user may carry a month through an account's persistent tunnels. */
  monthlyBytes: number;
  /** Persistent tunnels that one account may have. */
  maxTunnelsPerAccount: number;
  tunnelsPerMinute: number;
  /** Ephemeral tunnels that the server may have. */
  maxTunnels: number;
  /** Open requests for each visitor over HTTP/2 or behind a trusted proxy, where connections do not bound them. */
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

/** Twice a second: a killed process loses at most the counts from its last second. */
const SWEEP_MS = 500;

/** The public side of tunnels: visitors, sessions, and the tunnels in memory. */
export class Relay implements Area {
  /** Handlers for tunnel visitors, then for clients that open a session or create an ephemeral tunnel. */
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

  /** Whether a host, with or without port, is below a tunnel domain. */
  isTunnelHost(host: string): boolean {
    return this.#hosts.find(host) !== null;
  }

  /** Whether a tunnel exists at a host. @throws StoreUnavailable */
  async hasTunnelAt(host: string): Promise<boolean> {
    const found = this.#hosts.find(host);
    return found !== null && await this.#sources()[found.kind].findEndpoint(found.label) !== null;
  }

  /** Loads the service by which members manage their tunnels. */
  async openService(): Promise<TunnelService> {
    const { openService }: typeof import("./service.ts") = await import(later("./service.ts"));
    const { maxTunnelsPerAccount: maxPerAccount, tunnelUrl, now = Date.now } = this.#options;
    const urlOf = (label: string) => urlBelow(tunnelUrl, label);
    return openService({ ...this.#options, registry: this.#persistents, urlOf, maxPerAccount, now });
  }

  /** Returns why the store fails, or null. Open tunnels continue to work meanwhile. */
  fault(): string | null {
    return this.#options.store.failing();
  }

  /** Counts the open sessions and streams. */
  count(): { sessions: number; streams: number } {
    return this.#sessions.count();
  }

  /**
   * Ends the sessions on this server that lost their permission. Other servers check suspensions themselves within
   * seconds. If a new login replaced the ended one, its sessions continue under the new login.
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
   * Refuses new sessions and visitors, and tells clients to connect elsewhere. Resolves when all requests have finished,
   * or when `signal` aborts.
   */
  drain(signal: AbortSignal): Promise<void> {
    this.#gates.prepend(drainingGate);
    return this.#sessions.drain(signal);
  }

  /** Ends every session and stores the remaining counts. */
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

  /** Sends a notice to a user's clients when most of the allowance is used. */
  #warn(allowance: Allowance): void {
    const { accountId, userId } = allowance.user;
    for (const session of this.#sessions.ofMembers()) {
      const { user } = session;
      if (user.accountId !== accountId || user.userId !== userId) continue;
      session.notify(NoticeCode.allowanceLow, describeUse(allowance));
    }
  }

  /** Starts a sweep unless one is running, so that a slow store does not accumulate sweeps. */
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
    if (reason === null) return log.info("storage_recovered");
    log.error("storage_failed", {
      reason,
      hint: "open tunnels continue, but the server stores nothing and creates no tunnels",
    });
  }
}

function isSession({ path }: Exchange): boolean {
  return path === SESSION_PATH || path.startsWith(`${SESSION_PATH}?`);
}

/** Returns a URL with a label before its host. */
function urlBelow({ protocol, host }: URL, label: string): string {
  return `${protocol}//${label}.${host}`;
}

function isOf(ended: Ended, { userId, accountId, login }: SessionUser): boolean {
  // A login that switched to another account keeps its tunnels: its user is still a member there.
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
