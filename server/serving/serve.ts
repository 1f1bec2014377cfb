import { explainError } from "../../common/explain_error.ts";
import { aborted } from "../../common/delay.ts";
import { listen, ListenerTraffic, type ListenOptions } from "../../net/listener/mod.ts";
import type { Logger } from "../../common/log.ts";
import { createApp } from "./app.ts";
import type { ProxyConfig } from "../config.ts";
import type { Area, Handler } from "../http/mod.ts";
import { openTrustCheck } from "../open/origin_reader.ts";
import { describeProcess, describeTraffic, type Metric, openMetrics } from "./metrics.ts";
import { readTls } from "./read_tls.ts";
import { watchTls } from "./renew_tls.ts";
import type { RunningServer } from "../running_server.ts";

/** The server's address, which areas need when they open. */
export interface Place {
  /** Its public URL. */
  url: URL;
  /** The port it listens on. */
  port: number;
}

/** A server's areas and their common resources. */
export interface Opened {
  /** In the order in which their handlers see a request. */
  areas: readonly Area[];
  /** Reads the areas' metrics. */
  readMetrics?(): Promise<readonly Metric[]>;
  /** Closes the common resources after all areas. */
  close(): Promise<void>;
}

/**
 * Listens, opens the areas, and serves them. Every kind of server starts here.
 * @param open opens the areas, once the address is known
 * @throws Error with a line for the operator if a file or the address is unusable; errors from `open`
 */
export async function serve(
  config: ProxyConfig,
  log: Logger,
  open: (place: Place) => Opened | Promise<Opened>,
): Promise<RunningServer> {
  const tls = readTls(config);
  // The areas need the port, which can be any free one: requests wait until the areas are open.
  const handlers = Promise.withResolvers<readonly Handler[]>();
  const traffic = new ListenerTraffic();
  const address = listenOptions(config, tls, config.metrics === null ? undefined : traffic, log);
  const listener = await listen(config.listener, address, createApp(handlers.promise, log)).catch((cause) => {
    throw new Error(`cannot listen on ${config.host} port ${config.port}: ${explainError(cause)}`, { cause });
  });
  const { hostname, port } = listener;
  const url = config.url ?? new URL(`${tls === undefined ? "http" : "https"}://localhost:${port}`);
  let opened: Opened | null = null;
  const metrics = await openOrAbort(() => {
    const read = async () => [
      ...describeProcess(),
      ...describeTraffic(traffic, listener),
      ...await opened?.readMetrics?.() ?? [],
    ];
    return config.metrics === null ? null : openMetrics(config.metrics, log, read);
  }, [listener]);
  const { areas, close } = opened = await openOrAbort(() => open({ url, port }), [listener, metrics]);
  handlers.resolve(areas.flatMap((area) => area.handlers));
  const stopWatching = watchTls(config, listener, log);
  const loading = setTimeout(() => void loadAreas(areas), LOAD_AFTER_MS);

  async function end(waitMs: number): Promise<void> {
    const timeUp = AbortSignal.timeout(waitMs);
    stopWatching();
    clearTimeout(loading);
    await Promise.all(areas.map((area) => area.drain?.(timeUp)));
    for (const area of areas.toReversed()) await area.close();
    // After the areas, because closing the listener cuts sessions and their requests.
    await Promise.race([listener.close(), aborted(timeUp)]);
    listener.abort();
    metrics?.abort();
    await close();
  }

  const metricsUrl = metrics?.url ?? null;
  const drain = () => end(config.drainSeconds * 1000);
  return { url, address: { hostname, port }, metricsUrl, drain, close: () => end(0) };
}

/** Milliseconds after the start: the server then works, and later requests need not wait for a load. */
const LOAD_AFTER_MS = 1000;

/** Loads the areas' lazy parts, one after the other. */
async function loadAreas(areas: readonly Area[]): Promise<void> {
  // The log has the failure, and a request for that part gets an error.
  for (const area of areas) await area.load?.().catch(() => {});
}

async function openOrAbort<T>(open: () => T | Promise<T>, others: readonly ({ abort(): void } | null)[]): Promise<T> {
  try {
    return await open();
  } catch (error) {
    for (const other of others) other?.abort();
    throw error;
  }
}

function listenOptions(
  config: ProxyConfig,
  tls: ListenOptions["tls"],
  traffic: ListenerTraffic | undefined,
  log: Logger,
): ListenOptions {
  const limits = {
    handshakeSeconds: config.headSeconds,
    headSeconds: config.headSeconds,
    idleSeconds: config.idleSeconds,
    bodyRate: config.bodyRate,
    stallSeconds: config.stallSeconds,
    maxConnections: config.maxConnections ?? Infinity,
    maxConnectionsPerAddress: config.maxConnectionsPerAddress,
    maxHeadBytes: config.maxHeadBytes,
  };
  return { hostname: config.host, port: config.port, tls, limits, isTrusted: openTrustCheck(config), traffic, log };
}
