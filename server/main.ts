import { isIP } from "node:net";
import { createTlsAsk } from "./tls_ask.ts";
import type { Logger } from "../common/log.ts";
import { isLoopbackAddress } from "../common/loopback.ts";
import { OptionError } from "../common/options.ts";
import { createApiFace } from "./api.ts";
import { type CapturesArea, type CapturesOptions, createCaptures } from "./captures/mod.ts";
import { createLocalArrivals, LocalPresence, type Presence } from "./cluster/mod.ts";
import type { ProxyOnlyConfig, ServerConfig } from "./config.ts";
import { createHq } from "./hq/mod.ts";
import { describeCaptures, describeRelay } from "./metrics.ts";
import { openAccounts } from "./open_accounts.ts";
import { openOriginReader } from "./open_origin_reader.ts";
import { openProxy } from "./open_proxy.ts";
import { openReplays } from "./open_replays.ts";
import { openConfiguredStore } from "./open_store.ts";
import { createProxyFace, proxyApi, shareWithPages, welcome } from "./proxy/mod.ts";
import { Relay, type RelayOptions } from "./relay/mod.ts";
import type { RunningServer } from "./running_server.ts";
import { type Opened, type Place, serve } from "./serve.ts";
import type { Store } from "./store/mod.ts";

export type { RunningServer };

/** What a server may be given instead of its own. */
export interface ServerParts {
  /** Which session carries what; a server that stands alone when left out. */
  presence?: Presence;
  /** Who may use persistent tunnels; the server's own accounts when left out. */
  members?: Members;
}

/** What tunnels ask of accounts. */
type Members = Pick<RelayOptions, "authenticate" | "planOf" | "isSuspended">;

/**
 * Opens the store, listens and serves.
 * @throws Error with a line for the operator when a file cannot be read, the data folder or the database cannot be
 * used, or the address cannot be had
 */
export async function startServer(
  config: ServerConfig,
  log: Logger,
  parts: ServerParts = {},
): Promise<RunningServer> {
  const domains = chooseDomains(config);
  const store = await openConfiguredStore(config);
  try {
    return await serve(config, log, (place) => openAreas(config, store, domains, place, parts, log));
  } catch (error) {
    await store.close();
    throw error;
  }
}

/**
 * Listens and serves the proxy alone: no tunnels, nothing stored.
 * @throws as {@link startServer} does
 */
export async function startProxyOnly(config: ProxyOnlyConfig, log: Logger): Promise<RunningServer> {
  return await serve(config, log, (place) => {
    const proxy = openProxy({ config, ...place, isTunnelHost: () => false, alone: config, log });
    const { openPaths } = config;
    const about = { baseUrl: place.url.origin, files: config.proxyFiles !== null, openPaths, isAlone: true };
    const api = createApiFace({
      baseUrl: about.baseUrl,
      areas: [{ describe: proxyApi(about) }],
      welcome: (accept) => welcome(accept, about),
      readHealth: () => ({}),
    });
    const faces = [createProxyFace(proxy), shareWithPages(proxy, api)];
    return { areas: [{ faces, close: () => proxy.close() }], close: () => Promise.resolve() };
  });
}

/** What a whole server consists of. Tunnels come first: below their hosts every path is their own. */
async function openAreas(
  config: ServerConfig,
  store: Store,
  domains: Domains,
  place: Place,
  parts: ServerParts,
  log: Logger,
): Promise<Opened> {
  const { url } = place;
  if (!isLoopbackAddress(config.host)) warnAboutStrangers(config, url, log);
  // First, since it refuses options: a first start that fails must not have told of its set-up link before.
  const isTunnelHost = (host: string) => relay.isTunnelHost(host);
  const proxy = openProxy({ config, ...place, isTunnelHost, alone: null, log });
  const replays = openReplays({ config, ...place, isTunnelHost });
  const hqUrl = config.hqUrl ?? url;
  const accounts = await openAccounts(config, store, hqUrl, log);
  const { members = accounts, presence = new LocalPresence() } = parts;
  const relay = openRelay(config, { store, domains, url, members, presence, log });
  accounts.onEnded((ended) => relay.endSessionsOf(ended));
  const { authenticate, note } = accounts;
  const captures = openCaptures(config, { store, authenticate, log, send: replays.send, note }, url);
  const own = [url, hqUrl, config.apiUrl ?? url].map(({ hostname }) => hostname);
  const isServed = async (host: string) => own.includes(host) || await relay.hasTunnelAt(host);
  const about = { baseUrl: url.origin, files: config.proxyFiles !== null, openPaths: false, isAlone: false };
  const api = createApiFace({
    baseUrl: about.baseUrl,
    areas: [{ describe: proxyApi(about) }, relay.api, accounts.api, captures.api, createTlsAsk(isServed)],
    welcome: (accept) => welcome(accept, about),
    readHealth: () => ({ status: relay.fault() === null ? "ok" : "storage_failed", ...relay.count() }),
  });
  const hq = createHq({
    url: hqUrl,
    accounts,
    tunnels: relay.management,
    views: captures.desk,
    readApi: api.describe,
  });
  return {
    areas: [
      relay,
      captures,
      { faces: [...accounts.faces, hq.pages], close: () => accounts.close() },
      { faces: [createProxyFace(proxy), shareWithPages(proxy, api)], close: () => proxy.close() },
      { faces: [hq.missing], close: () => hq.close() },
    ],
    readMetrics: () => [
      ...describeRelay(relay.count(), store.fault() !== null),
      ...describeCaptures(captures.readFigures()),
    ],
    close() {
      replays.close();
      return store.close();
    },
  };
}

interface RelayParts extends Pick<RelayOptions, "store" | "presence" | "log"> {
  domains: Domains;
  url: URL;
  members: Members;
}

function openRelay(config: ServerConfig, { domains, url, members, ...parts }: RelayParts): Relay {
  return new Relay({
    ...parts,
    authenticate: (exchange) => members.authenticate(exchange),
    planOf: (accountId) => members.planOf(accountId),
    isSuspended: (userId) => members.isSuspended(userId),
    readOrigin: openOriginReader(config),
    ownHosts: [url, config.hqUrl ?? url, config.apiUrl ?? url].map(({ hostname }) => hostname),
    ephemeralUrl: domainUrl(url, domains.ephemeral),
    tunnelUrl: domainUrl(url, domains.persistent),
    monthlyBytes: config.monthlyBytes,
    maxTunnelsPerAccount: config.maxTunnelsPerAccount,
    ephemeralLifetimeMs: config.ephemeralSeconds * 1000,
    ephemeralBytes: config.ephemeralBytes,
    tunnelsPerMinute: config.tunnelsPerMinute,
    maxTunnels: config.maxTunnels,
    maxRequestsPerVisitor: config.maxConnectionsPerAddress,
    maxStreams: config.maxStreams,
    maxUpgrades: config.maxUpgrades,
    maxSessionsPerAddress: config.maxSessionsPerAddress,
    streamIdleMs: config.streamIdleSeconds * 1000,
    holdMs: config.holdSeconds * 1000,
  });
}

function openCaptures(
  config: ServerConfig,
  parts: Pick<CapturesOptions, "store" | "authenticate" | "log" | "send" | "note">,
  url: URL,
): CapturesArea {
  return createCaptures({
    ...parts,
    arrivals: createLocalArrivals(),
    readOrigin: openOriginReader(config),
    apiUrl: (config.apiUrl ?? url).origin,
    hqUrl: (config.hqUrl ?? url).origin,
    maxBodyBytes: config.viewBodyBytes,
    maxCaptures: config.viewCaptures,
    maxViewBytes: config.viewBytes,
    retentionDays: config.viewRetentionDays,
    maxViews: config.viewsPerAccount,
    perView: config.viewCallsPerMinute,
    perAddress: config.viewCallsPerAddress,
    maxHeldBytes: MAX_HELD_BYTES,
    replaysPerMinute: config.viewReplaysPerMinute,
  });
}

/** Bytes of calls that wait in memory for a slow disk, before more are turned away. */
const MAX_HELD_BYTES = 64 * 1024 * 1024;

/** What an operator easily overlooks when others can reach the server. */
function warnAboutStrangers(config: ServerConfig, url: URL, log: Logger): void {
  if (config.url === null) {
    const hint = `others cannot use tunnels below ${url.host}; --url says how they reach this server`;
    log.warn("url_not_set", { hint });
  }
  if (config.listener === "deno" && config.trustedProxies.length === 0) {
    const hint =
      "--listener deno has no time limits, and reads uploads ahead without bound: put a proxy in front, or " +
      "leave it out";
    log.warn("listener_unfit", { hint });
  }
}

/** Below which tunnels of either kind appear. */
interface Domains {
  ephemeral: string;
  persistent: string;
}

/** Tunnels are names below a domain, and an address has none below it. */
function chooseDomains({ ephemeralDomain, tunnelDomain, url }: ServerConfig): Domains {
  const hostname = url?.hostname ?? "localhost";
  const isName = !hostname.startsWith("[") && isIP(hostname) === 0;
  const ephemeral = ephemeralDomain ?? (isName ? `try.${hostname}` : null);
  if (ephemeral !== null) return { ephemeral, persistent: tunnelDomain ?? (isName ? `tunnel.${hostname}` : ephemeral) };
  throw new OptionError(`--url: tunnels need a domain, which ${hostname} is not: give one with --ephemeral-domain`);
}

/** The server's URL with the host of a domain of tunnels. */
function domainUrl(url: URL, domain: string): URL {
  const result = new URL(url);
  result.hostname = domain;
  return result;
}
