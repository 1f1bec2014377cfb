import process from "node:process";
import { createLogger, describeError, type Logger, silentLogger, stackOf } from "../common/log.ts";
import type { FlagTexts } from "../common/command_line/mod.ts";
import { readConfigValues } from "../common/config_values.ts";
import { aborted } from "../common/delay.ts";
import { later } from "../common/later.ts";
import { listenForStop } from "../common/stop_signal.ts";
import { resolveOptions } from "../common/options.ts";
import { writeText } from "../common/output/mod.ts";
import { type ProxyConfig, proxyOnlyOptions, serverOptions } from "./config.ts";
import { startServer } from "./main.ts";
import { IN_MEMORY } from "./open/store.ts";
import type { RunningServer } from "./running_server.ts";

/**
 * Runs the server until SIGTERM or SIGINT, then drains it; a second signal ends it at once.
 * @param flags texts from the command line
 * @returns the exit code
 * @throws OptionError; errors from {@link startServer}
 */
export async function runServer(flags: FlagTexts): Promise<number> {
  const config = resolveOptions(serverOptions, { flags, env: process.env });
  return await runUntilStopped(config, (log) => startServer(config, log));
}

/** Runs a server that is only a proxy, like {@link runServer}. */
export async function runProxy(flags: FlagTexts): Promise<number> {
  const config = resolveOptions(proxyOnlyOptions, { flags, env: process.env });
  return await runUntilStopped(config, async (log) => {
    const { startProxyOnly }: typeof import("./proxy_only.ts") = await import(later("./proxy_only.ts"));
    return await startProxyOnly(config, log);
  });
}

async function runUntilStopped(config: ProxyConfig, start: (log: Logger) => Promise<RunningServer>): Promise<number> {
  const log = createLogger({ format: config.logFormat, level: config.logLevel });
  const stop = listenForStop();
  surviveDefects(log);
  try {
    return await serveUntil(stop, config, await start(log), log);
  } finally {
    await log.flush();
  }
}

async function serveUntil(
  stop: ReturnType<typeof listenForStop>,
  config: ProxyConfig,
  server: RunningServer,
  log: Logger,
): Promise<number> {
  const { hostname, port } = server.address, metrics = server.metricsUrl?.href;
  const line = config.json
    ? JSON.stringify({ event: "listening", url: server.url.origin, hostname, port, metrics })
    : `Listening on ${hostname} port ${port}, as ${server.url.origin}` +
      (metrics === undefined ? "" : `, metrics at ${metrics}`);
  await writeText(process.stdout, line + "\n").catch((error) =>
    log.warn("output_failed", { reason: describeError(error) })
  );
  await aborted(stop.signal);
  log.info("draining", { signal: String(stop.signal.reason), seconds: config.drainSeconds });
  await server.drain();
  stop.release();
  log.info("stopped");
  return 0;
}

/** Logs unexpected errors, so that a defect in one request leaves the others running. */
function surviveDefects(log: Logger): void {
  const report = (error: unknown) => log.error("defect", { reason: describeError(error), stack: stackOf(error) });
  process.on("uncaughtException", report);
  process.on("unhandledRejection", report);
}

/** Starts a relay inside a client: on loopback, without a log, and in memory without a data folder. */
export async function startEmbeddedRelay(port: number, dataDir: string | null): Promise<RunningServer> {
  const flags = { host: "127.0.0.1", port: String(port), dataDir: dataDir ?? IN_MEMORY, drainSeconds: "0" };
  return await startServer(resolveOptions(serverOptions, { flags, env: {} }), silentLogger, { sharesFolder: true });
}

/** Starts a server for embedding code, without a log. @param options by their names */
export async function startServerWith(options: Readonly<Record<string, unknown>>): Promise<RunningServer> {
  const flags = readConfigValues(serverOptions, options, "options of the server");
  return await startServer(resolveOptions(serverOptions, { flags, env: {} }), silentLogger);
}
