import { readFileSync } from "node:fs";
import { createOriginReader } from "../common/forwarded.ts";
import { type ExchangeHandler, listen } from "../common/listener/mod.ts";
import { delay } from "../common/delay.ts";
import { describeError, type Logger } from "../common/log.ts";
import { createApp, createProxyApp } from "./app.ts";
import { createLocalPresence } from "./cluster/mod.ts";
import type { ProxyConfig, ServerConfig } from "./config.ts";
import { openProxy } from "./open_proxy.ts";
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
  const store = await openStore({ dataDir: config.dataDir === IN_MEMORY ? null : config.dataDir });
  // The port may be any free one, and URLs name it: handlers are made once it is known.
  const ready = Promise.withResolvers<ExchangeHandler>();
  let handler: ExchangeHandler = async (exchange) => (await ready.promise)(exchange);
  const address = { hostname: config.host, port: config.port, tls, log };
  const listener = await listen(config.listener, address, (exchange) => handler(exchange)).catch(async (cause) => {
    await store.close();
    throw new Error(`cannot listen on ${config.host} port ${config.port}: ${describeError(cause)}`, { cause });
  });
  const url = config.url ?? new URL(`${tls === undefined ? "http" : "https"}://localhost:${listener.port}`);
  const relay = createRelay({
    store,
    presence: createLocalPresence(),
    log,
    readOrigin: createOriginReader(config.trustedProxies),
    ephemeralUrl: domainUrl(url, config.ephemeralDomain ?? `try.${url.hostname}`),
    ephemeralLifetimeMs: config.ephemeralSeconds * 1000,
    ephemeralBytes: config.ephemeralBytes,
    tunnelsPerMinute: config.tunnelsPerMinute,
    maxHeadBytes: config.maxHeadBytes,
    maxStreams: config.maxStreams,
    maxSessionsPerAddress: config.maxSessionsPerAddress,
    streamIdleMs: config.streamIdleSeconds * 1000,
    holdMs: config.holdSeconds * 1000,
  });
  const proxy = openProxy({
    config,
    url,
    port: listener.port,
    isTunnelHost: (hostname) => relay.match(hostname) !== null,
    log,
  });
  handler = createApp({ relay, proxy, welcomeOptions: welcomeFor(config, url), log });
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
export async function startProxyOnly(config: ProxyConfig, log: Logger): Promise<RunningServer> {
  const tls = readTls(config);
  const ready = Promise.withResolvers<ExchangeHandler>();
  const address = { hostname: config.host, port: config.port, tls, log };
  const listener = await listen(config.listener, address, async (exchange) => (await ready.promise)(exchange))
    .catch((cause) => {
      throw new Error(`cannot listen on ${config.host} port ${config.port}: ${describeError(cause)}`, { cause });
    });
  const url = config.url ?? new URL(`${tls === undefined ? "http" : "https"}://localhost:${listener.port}`);
  const proxy = openProxy({ config, url, port: listener.port, isTunnelHost: () => false, log });
  ready.resolve(createProxyApp({ proxy, welcomeOptions: welcomeFor(config, url), log }));

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

function welcomeFor(config: ProxyConfig, url: URL): { baseUrl: string; files: boolean } {
  return { baseUrl: url.origin, files: config.proxyFiles !== null };
}

function readTls(
  { tlsCert, tlsKey }: Pick<ServerConfig, "tlsCert" | "tlsKey">,
): { cert: string; key: string } | undefined {
  if (tlsCert === null && tlsKey === null) return undefined;
  if (tlsCert === null || tlsKey === null) throw new Error("--tls-cert and --tls-key go together");
  return { cert: readFileSync(tlsCert, "utf8"), key: readFileSync(tlsKey, "utf8") };
}

/** The server's URL with the host of a domain of tunnels. */
function domainUrl(url: URL, domain: string): URL {
  const result = new URL(url);
  result.hostname = domain.toLowerCase();
  return result;
}
