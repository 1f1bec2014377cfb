import { isIP } from "node:net";
import { later } from "../common/later.ts";
import type { Logger } from "../common/log.ts";
import { isLoopbackAddress } from "../common/loopback.ts";
import { OptionError } from "../common/options.ts";
import { checkAllowLists } from "./open/check_allow_lists.ts";
import { LocalPresence, type Presence } from "./cluster/mod.ts";
import type { ServerConfig } from "./config.ts";
import { type Area, Lazy, shareWithPages } from "./http/mod.ts";
import { beginFirstStart } from "./open/first_start.ts";
import { createHealth } from "./api/health.ts";
import { createLazyArea, type LoadedAreas } from "./serving/lazy_area.ts";
import { describeCaptures, describeLate, describeRelay } from "./serving/metrics.ts";
import { openCors } from "./open/cors.ts";
import { openOriginReader } from "./open/origin_reader.ts";
import type { OpenProxyOptions } from "./open/proxy.ts";
import { openConfiguredStore } from "./open/store.ts";
import type { OwnAreas, OwnAreasOptions } from "./open/own_areas.ts";
import { type Gate, Relay, type RelayOptions } from "./relay/mod.ts";
import type { RunningServer } from "./running_server.ts";
import { type Opened, type Place, serve } from "./serving/serve.ts";
import type { Store } from "./store/mod.ts";

/** Parts that replace the server's own. */
export interface ServerParts {
  /** Presence for sessions; a single server's if left out. */
  presence?: Presence;
  /** The accounts that may use persistent tunnels; the server's own if left out. */
  members?: Members;
  /**
   * Whether other servers may use the same data folder; false if left out, since one server cannot reach another's
   * sessions. Relays inside clients share it, because each carries only its own tunnels.
   */
  sharesFolder?: boolean;
  /** Gates that tunnel visitors pass after the server's own. */
  gates?: readonly Gate[];
}

/** The account checks that tunnels need. */
type Members = Pick<RelayOptions, "authenticate" | "planOf" | "isSuspended">;

/**
 * Opens the store, listens and serves.
 * @throws Error with a line for the operator, for an unreadable file, an unusable or locked data folder, an unusable
 * database, or an address that is in use
 */
export async function startServer(
  config: ServerConfig,
  log: Logger,
  parts: ServerParts = {},
): Promise<RunningServer> {
  const domains = chooseDomains(config);
  const store = await openConfiguredStore(config, parts.sharesFolder === true);
  try {
    return await serve(config, log, (place) => openAreas(config, store, domains, place, parts, log));
  } catch (error) {
    await store.close();
    throw error;
  }
}

/**
 * Opens the areas of a complete server. The relay comes first, because all paths below tunnel hosts belong to tunnels.
 * The proxy and the areas for members load with their first request, or soon after the start.
 */
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
  // This can refuse options, and a start that fails must not log a set-up link.
  await checkAllowLists(config, ["proxyAllow", "viewReplayAllow"]);
  const cors = openCors(config, url, log);
  const hqUrl = config.hqUrl ?? url, ephemeralUrl = domainUrl(url, domains.ephemeral);
  const ownHosts = [url, hqUrl, config.apiUrl ?? url].map(({ hostname }) => hostname);
  const admin = await beginFirstStart(config, store, hqUrl.origin, log);
  const reach = { config, ...place, cors, isTunnelHost: (host: string) => relay.isTunnelHost(host), log };
  const proxy = putOffProxy(reach);
  const own = putOffOwnAreas(() => ({ ...reach, store, relay, hqUrl, ownHosts, ephemeralUrl }), log);
  const { members = membersOf(own), presence = new LocalPresence(), gates } = parts;
  const tunnelUrl = domainUrl(url, domains.persistent);
  const relay = openRelay(config, { store, ownHosts, ephemeralUrl, tunnelUrl, members, presence, gates, log });
  const health = createHealth(() => ({ status: relay.fault() === null ? "ok" : "storage_failed", ...relay.count() }));
  const areas: Area[] = [
    relay,
    { handlers: [shareWithPages(cors, health)], drain: health.drain, close() {} },
    createLazyArea(proxy, log, "/proxy/"),
    createLazyArea(own, log),
  ];
  try {
    if (admin !== null) await (await own.load()).accounts.addFirstAdmin(admin);
  } catch (error) {
    for (const area of areas.toReversed()) await area.close();
    throw error;
  }
  return {
    areas,
    readMetrics: async () => [
      ...describeRelay(relay.count(), store.failing() !== null),
      ...await describeLate(own, ({ readFigures }) => describeCaptures(readFigures())),
    ],
    close: () => store.close(),
  };
}

function putOffProxy(options: Omit<OpenProxyOptions, "alone">): Lazy<LoadedAreas> {
  return new Lazy({
    name: "proxy",
    log: options.log,
    async load() {
      const { openProxy }: typeof import("./open/proxy.ts") = await import(later("./open/proxy.ts"));
      return { areas: [openProxy({ ...options, alone: null })] };
    },
  });
}

/** @param options called at loading, because the options contain the relay, which itself needs the accounts */
function putOffOwnAreas(options: () => OwnAreasOptions, log: Logger): Lazy<OwnAreas> {
  return new Lazy({
    name: "own areas",
    log,
    async load() {
      const { openOwnAreas }: typeof import("./open/own_areas.ts") = await import(later("./open/own_areas.ts"));
      return await openOwnAreas(options());
    },
  });
}

/** Creates the account checks from the server's own accounts. */
function membersOf(own: Lazy<OwnAreas>): Members {
  return {
    authenticate: async (exchange) => await (await own.load()).accounts.authenticate(exchange),
    planOf: async (accountId) => await (await own.load()).accounts.planOf(accountId),
    isSuspended: async (userId) => await (await own.load()).accounts.isSuspended(userId),
  };
}

interface RelayParts
  extends Pick<RelayOptions, "store" | "presence" | "gates" | "log" | "ownHosts" | "ephemeralUrl" | "tunnelUrl"> {
  members: Members;
}

function openRelay(config: ServerConfig, { members, ...parts }: RelayParts): Relay {
  return new Relay({
    ...parts,
    authenticate: (exchange) => members.authenticate(exchange),
    planOf: (accountId) => members.planOf(accountId),
    isSuspended: (userId) => members.isSuspended(userId),
    readOrigin: openOriginReader(config),
    monthlyBytes: config.monthlyBytes,
    maxTunnelsPerAccount: config.maxTunnelsPerAccount,
    ephemeralLifetimeMs: config.ephemeralSeconds * 1000,
    ephemeralBytes: config.ephemeralBytes,
    tunnelsPerMinute: config.tunnelsPerMinute,
    maxTunnels: config.maxTunnels,
    maxRequestsPerVisitor: config.maxConnectionsPerAddress,
    maxStreams: config.maxStreams,
    maxUpgrades: config.maxStreams,
    maxSessionsPerAddress: config.maxSessionsPerAddress,
    streamIdleMs: config.streamIdleSeconds * 1000,
    holdMs: config.holdSeconds * 1000,
  });
}

/** Warns about options that operators often forget on a public server. */
function warnAboutStrangers(config: ServerConfig, url: URL, log: Logger): void {
  if (config.url === null) {
    const hint = `other machines cannot use tunnels below ${url.host}; set --url to the public URL`;
    log.warn("url_not_set", { hint });
  }
  if (config.listener === "deno" && config.trustedProxies.length === 0) {
    const hint =
      "--listener deno has no time limits and buffers uploads without a limit; put a proxy in front or remove " +
      "the option";
    log.warn("listener_without_limits", { hint });
  }
}

/** The domains for both kinds of tunnels. */
interface Domains {
  ephemeral: string;
  persistent: string;
}

/** Chooses the tunnel domains. Tunnels need host names, and an IP address has no names below it. */
function chooseDomains({ tunnelDomains, url }: ServerConfig): Domains {
  const hostname = url?.hostname ?? "localhost";
  const isName = !hostname.startsWith("[") && isIP(hostname) === 0;
  const [ephemeral, persistent = ephemeral] = tunnelDomains;
  if (ephemeral !== undefined) return { ephemeral, persistent };
  if (isName) return { ephemeral: `try.${hostname}`, persistent: `tunnel.${hostname}` };
  throw new OptionError(`--url: tunnels need a domain, and ${hostname} is an address; set --tunnel-domains`);
}

/** Returns the server's URL with a tunnel domain as its host. */
function domainUrl(url: URL, domain: string): URL {
  const result = new URL(url);
  result.hostname = domain;
  return result;
}
