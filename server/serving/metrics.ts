import { isIP } from "node:net";
import process from "node:process";
import { bareHostname } from "../../common/bare_hostname.ts";
import { explainError } from "../../common/explain_error.ts";
import { listen, type Listener, type ListenerTraffic, sendText } from "../../net/listener/mod.ts";
import type { Logger } from "../../common/log.ts";
import type { ListenAddress } from "../../common/options.ts";
import { isLoopbackAddress } from "../../common/loopback.ts";
import { RELEASE } from "../../common/release.ts";
import type { CaptureFigures } from "../captures/mod.ts";
import type { Lazy } from "../http/mod.ts";

/** A metric in Prometheus' model. */
export interface Metric {
  /** The name with its unit, and with `_total` for counters. */
  name: string;
  help: string;
  type: "counter" | "gauge";
  /** Values with labels from a fixed set. Prometheus stores each label set for ever, so no visitor may choose labels. */
  values: readonly { labels?: Readonly<Record<string, string>>; value: number }[];
}

/** Creates a metric without labels. */
function metric(name: string, type: Metric["type"], help: string, value: number): Metric {
  return { name, help, type, values: [{ value }] };
}

/**
 * Serializes metrics in the text format 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format).
 */
function renderMetrics(metrics: readonly Metric[]): string {
  return metrics.map(({ name, help, type, values }) => {
    const lines = values.map(({ labels, value }) => `${name}${renderLabels(labels)} ${value}\n`);
    return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
  }).join("");
}

function renderLabels(labels: Readonly<Record<string, string>> = {}): string {
  const pairs = Object.entries(labels).map(([name, value]) =>
    `${name}="${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`
  );
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

/** Returns the public listener's metrics. */
export function describeTraffic(traffic: ListenerTraffic, { connections }: Listener): Metric[] {
  const classes = [1, 2, 3, 4, 5] as const;
  const { received, sent } = traffic;
  const responses = classes.map((kind) => ({ labels: { class: `${kind}xx` }, value: traffic.answers(kind) }));
  const bytes = [
    metric("portway_connections", "gauge", "Open connections to visitors and clients.", connections),
    metric("portway_received_bytes_total", "counter", "Bytes from visitors and clients, inside TLS.", received),
    metric("portway_sent_bytes_total", "counter", "Bytes to visitors and clients, inside TLS.", sent),
  ];
  return [
    // The runtime's listener counts neither.
    ...connections < 0 ? [] : bytes,
    { name: "portway_responses_total", help: "Responses by status class.", type: "counter", values: responses },
    // Dashboards of release 0.1 read the former name. Remove it in release 0.3.
    {
      name: "portway_answers_total",
      help: "Deprecated, use portway_responses_total.",
      type: "counter",
      values: responses,
    },
  ];
}

/** Returns the metrics of tunnels and of the store. */
export function describeRelay(
  { sessions, streams }: { sessions: number; streams: number },
  isFailing: boolean,
): Metric[] {
  return [
    metric("portway_sessions", "gauge", "Sessions that carry a tunnel.", sessions),
    metric("portway_streams", "gauge", "Open requests and upgrades through tunnels.", streams),
    metric("portway_store_failing", "gauge", "1 while the store fails.", isFailing ? 1 : 0),
  ];
}

/** Returns the metrics of request views. */
export function describeCaptures({ kept, bytes, refused, commits, commitMs, tails }: CaptureFigures): Metric[] {
  return [
    metric("portway_captures_total", "counter", "Calls that request views stored.", kept),
    metric("portway_captured_bytes_total", "counter", "Body bytes of stored calls.", bytes),
    {
      name: "portway_captures_refused_total",
      help: "Refused calls to request views, by reason.",
      type: "counter",
      values: Array.from(refused, ([reason, value]) => ({ labels: { reason }, value })),
    },
    metric("portway_capture_commits_total", "counter", "Transactions that stored calls.", commits),
    metric("portway_capture_commit_seconds_total", "counter", "Total time of these transactions.", commitMs / 1000),
    metric("portway_view_tails", "gauge", "Open streams that follow a request view.", tails),
  ];
}

/**
 * Returns the metrics of a lazy part, or none if loading fails, so that the other metrics stay available. The log has the
 * reason.
 * @throws errors from `describe`
 */
export async function describeLate<T extends object>(
  late: Lazy<T>,
  describe: (loaded: T) => readonly Metric[],
): Promise<readonly Metric[]> {
  const loaded = await late.load().catch(() => null);
  return loaded === null ? [] : describe(loaded);
}

/** Returns the process metrics under Prometheus' standard names. */
export function describeProcess(): Metric[] {
  const { rss, heapUsed } = process.memoryUsage(), { user, system } = process.cpuUsage();
  const startedAt = Date.now() / 1000 - process.uptime();
  const release = { labels: { version: RELEASE }, value: 1 };
  return [
    { name: "portway_build_info", help: "The running release.", type: "gauge", values: [release] },
    metric("process_resident_memory_bytes", "gauge", "Resident memory.", rss),
    metric("portway_heap_used_bytes", "gauge", "Heap memory in use.", heapUsed),
    metric("process_cpu_seconds_total", "counter", "CPU time.", (user + system) / 1e6),
    metric("process_start_time_seconds", "gauge", "Start time since 1970.", Math.round(startedAt)),
  ];
}

/** The listener for metrics. */
export interface MetricsServer {
  readonly url: URL;
  abort(): void;
}

/**
 * Serves metrics at `/metrics` on a separate address, which visitors cannot reach through the public one.
 * @param read called for each request
 * @throws Error with a line for the operator if the address is in use
 */
export async function openMetrics(
  { hostname, port }: ListenAddress,
  log: Logger,
  read: () => Promise<readonly Metric[]>,
): Promise<MetricsServer> {
  const isLocal = isLoopbackAddress(hostname);
  const listener = await listen("edge", { hostname, port, limits: LIMITS, log }, async (exchange) => {
    if (isLocal && !isDirectHost(exchange.host)) {
      sendText(exchange, 421, [["content-type", "text/plain"]], "read metrics at the IP address or at localhost\n");
      return null;
    }
    const isThere = exchange.path === "/metrics" && /^(GET|HEAD)$/.test(exchange.method);
    const headers = [["content-type", isThere ? CONTENT_TYPE : "text/plain"]] as const;
    sendText(
      exchange,
      isThere ? 200 : 404,
      headers,
      isThere ? renderMetrics(await read()) : "metrics are at /metrics\n",
    );
    return null;
  }).catch((cause) => {
    throw new Error(`cannot listen for metrics on ${hostname} port ${port}: ${explainError(cause)}`, { cause });
  });
  const host = listener.hostname.includes(":") ? `[${listener.hostname}]` : listener.hostname;
  return {
    url: new URL(`http://${host}:${listener.port}/metrics`),
    abort: () => listener.abort(),
  };
}

/** Whether a Host header has an address or localhost. In a DNS rebinding attack, the header has the attacker's name. */
function isDirectHost(host: string): boolean {
  const name = bareHostname(host.replace(/:\d*$/, ""));
  return isLoopbackAddress(name) || isIP(name) !== 0;
}

/** Few connections, so that the public listener keeps its file descriptors. */
const LIMITS = { maxConnections: 64 };
const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";
