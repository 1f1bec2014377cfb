import { isIP } from "node:net";
import { type ExchangeHandler, listen, type ListenOptions } from "../common/listener/mod.ts";
import { delay } from "../common/delay.ts";
import { describeError, type Logger } from "../common/log.ts";
import { isLoopbackAddress } from "../common/loopback.ts";
import { OptionError } from "../common/options.ts";
import { createApp, createProxyApp } from "./app.ts";
import { createLocalPresence } from "./cluster/mod.ts";
import type { ProxyConfig, ProxyOnlyConfig, ServerConfig } from "./config.ts";
import { openOriginReader, openTrustCheck } from "./open_origin_reader.ts";
import { openProxy } from "./open_proxy.ts";
import { readTls } from "./read_tls.ts";
import { createRelay } from "./relay/mod.ts";
import { openStore } from "./store/mod.ts";

/** A server that runs. */
export interface RunningServer {
  /** Its public URL. */
  url: URL;
  /** Where it listens. */
  address: { hostname: string; port: number };
  /**
   * Takes nothing new, tells clients, waits for what is in flight up to the configured time, stores what is not
   * stored, and ends.
   */
  drain(): Promise<void>;
  /** {@link drain} without the waiting. */
  close(): Promise<void>;
}

/** How long answers other than those of tunnels may take to end when the server does. */
const CLOSING_MS = 5000;

/** The data folder of a server that keeps nothing. */
export const IN_MEMORY = ":memory:";

/**
 * Opens the store, listens and serves.
 * @throws Error with a line for the operator when a file cannot be read, the data folder cannot be used, or the
 * address cannot be had
 */
export async function startServer(config: ServerConfig, log: Logger): Promise<RunningServer> {
  const tls = readTls(config);
  const readOrigin = openOriginReader(config);
  const ephemeralDomain = chooseEphemeralDomain(config);
  const store = await openStore({ dataDir: config.dataDir === IN_MEMORY ? null : config.dataDir });
  // The port may be any free one, and URLs name it: handlers are made once it is known.
  const ready = Promise.withResolvers<ExchangeHandler>();
  let handler: ExchangeHandler = async (exchange) => (await ready.promise)(exchange);
  const address = listenOptions(config, tls, log);
  const listener = await listen(config.listener, address, (exchange) => handler(exchange)).catch(async (cause) => {
    await store.close();
    throw new Error(`cannot listen on ${config.host} port ${config.port}: ${describeError(cause)}`, { cause });
  });
  const url = config.url ?? new URL(`${tls === undefined ? "http" : "https"}://localhost:${listener.port}`);
  if (!isLoopbackAddress(config.host)) warnAboutStrangers(config, url, log);
  const relay = createRelay({
    store,
    presence: createLocalPresence(),
    log,
    readOrigin,
    ownHost: url.hostname,
    ephemeralUrl: domainUrl(url, ephemeralDomain),
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
  const proxy = openProxy({
    config,
    url,
    port: listener.port,
    isTunnelHost: (hostname) => relay.match(hostname) !== null,
    alone: null,
    log,
  });
  handler = createApp({ relay, proxy, welcomeOptions: describe(config, url, null), log });
  ready.resolve(handler);

  async function end(waitMs: number): Promise<void> {
    const timeUp = AbortSignal.timeout(waitMs);
    // The listener comes last: closing it cuts every WebSocket, and with the sessions all that they carry.
    await relay.drain(timeUp);
    await relay.close();
    await Promise.race([listener.close(), delay(CLOSING_MS, timeUp)]);
    proxy.close();
    listener.abort();
    await store.close();
  }

  return {
    url,
    address: { hostname: listener.hostname, port: listener.port },
    drain: () => end(config.drainSeconds * 1000),
    close: () => end(0),
  };
}

/**
 * Listens and serves the proxy alone: no tunnels, nothing stored.
 * @throws as {@link startServer} does
 */
export async function startProxyOnly(config: ProxyOnlyConfig, log: Logger): Promise<RunningServer> {
  const tls = readTls(config);
  const ready = Promise.withResolvers<ExchangeHandler>();
  const address = listenOptions(config, tls, log);
  const listener = await listen(config.listener, address, async (exchange) => (await ready.promise)(exchange))
    .catch((cause) => {
      throw new Error(`cannot listen on ${config.host} port ${config.port}: ${describeError(cause)}`, { cause });
    });
  const url = config.url ?? new URL(`${tls === undefined ? "http" : "https"}://localhost:${listener.port}`);
  const proxy = openProxy({
    config,
    url,
    port: listener.port,
    isTunnelHost: () => false,
    alone: config,
    log,
  });
  ready.resolve(createProxyApp({ proxy, welcomeOptions: describe(config, url, config), log }));

  async function end(waitMs: number): Promise<void> {
    const waited = new AbortController();
    if (waitMs > 0) await Promise.race([listener.close(), delay(waitMs, waited.signal)]);
    waited.abort();
    proxy.close();
    listener.abort();
  }

  const { hostname, port } = listener;
  return { url, address: { hostname, port }, drain: () => end(config.drainSeconds * 1000), close: () => end(0) };
}

/** What tells of itself: the text for `/`, and the OpenAPI document. */
function describe(config: ProxyConfig, url: URL, alone: { openPaths: boolean } | null) {
  const openPaths = alone?.openPaths ?? false;
  return { baseUrl: url.origin, files: config.proxyFiles !== null, openPaths, isAlone: alone !== null };
}

function listenOptions(config: ProxyConfig, tls: ListenOptions["tls"], log: Logger): ListenOptions {
  const limits = {
    handshakeSeconds: config.handshakeSeconds,
    headSeconds: config.headSeconds,
    idleSeconds: config.idleSeconds,
    bodySeconds: config.bodySeconds,
    bodyRate: config.bodyRate,
    stallSeconds: config.stallSeconds,
    maxConnections: config.maxConnections ?? Infinity,
    maxConnectionsPerAddress: config.maxConnectionsPerAddress,
    maxHeadBytes: config.maxHeadBytes,
    maxFields: config.maxHeadFields,
  };
  return {
    hostname: config.host,
    port: config.port,
    tls,
    limits,
    isTrusted: openTrustCheck(config),
    log,
  };
}

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

/** Tunnels are names below a domain, and an address has none below it. */
function chooseEphemeralDomain({ ephemeralDomain, url }: Pick<ServerConfig, "ephemeralDomain" | "url">): string {
  if (ephemeralDomain !== null) return ephemeralDomain;
  const hostname = url?.hostname ?? "localhost";
  if (!hostname.startsWith("[") && isIP(hostname) === 0) return `try.${hostname}`;
  throw new OptionError(`--url: tunnels need a domain, which ${hostname} is not: give one with --ephemeral-domain`);
}

/** The server's URL with the host of a domain of tunnels. */
function domainUrl(url: URL, domain: string): URL {
  const result = new URL(url);
  result.hostname = domain;
  return result;
}
