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

/** One figure of the server, as Prometheus knows it. */
export interface Metric {
  /** By the conventions of Prometheus: with its unit, and `_total` for what only grows. */
  name: string;
  help: string;
  type: "counter" | "gauge";
  /** With labels from a fixed set, never with what a stranger sends: each makes a series that is kept for ever. */
  values: readonly { labels?: Readonly<Record<string, string>>; value: number }[];
}

/** One metric without labels. */
function metric(name: string, type: Metric["type"], help: string, value: number): Metric {
  return { name, help, type, values: [{ value }] };
}

/**
 * The text that Prometheus reads, format 0.0.4
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

/** What passes the public listener. */
export function describeTraffic(traffic: ListenerTraffic, { connections }: Listener): Metric[] {
  const classes = [1, 2, 3, 4, 5] as const;
  const { received, sent } = traffic;
  const bytes = [
    metric("portway_connections", "gauge", "Connections open, to visitors and clients.", connections),
    metric("portway_received_bytes_total", "counter", "Bytes from visitors and clients, inside TLS.", received),
    metric("portway_sent_bytes_total", "counter", "Bytes to visitors and clients, inside TLS.", sent),
  ];
  return [
    // The runtime's listener tells neither.
    ...connections < 0 ? [] : bytes,
    {
      name: "portway_answers_total",
      help: "Requests answered, by the class of the status.",
      type: "counter",
      values: classes.map((kind) => ({ labels: { class: `${kind}xx` }, value: traffic.answers(kind) })),
    },
  ];
}

/** What is carried, and whether what is to be kept is kept. */
export function describeRelay(
  { sessions, streams }: { sessions: number; streams: number },
  isFailing: boolean,
): Metric[] {
  return [
    metric("portway_sessions", "gauge", "Clients that carry a tunnel now.", sessions),
    metric("portway_streams", "gauge", "Requests and upgrades that go through tunnels now.", streams),
    metric("portway_store_failing", "gauge", "1 while nothing can be kept.", isFailing ? 1 : 0),
  ];
}

/** What request views keep and refuse, and what that takes. */
export function describeCaptures({ kept, bytes, refused, commits, commitMs, tails }: CaptureFigures): Metric[] {
  return [
    metric("portway_captures_total", "counter", "Calls that request views have kept.", kept),
    metric("portway_captured_bytes_total", "counter", "Bytes of the bodies of those.", bytes),
    {
      name: "portway_captures_refused_total",
      help: "Calls to request views that were refused, by the reason.",
      type: "counter",
      values: Array.from(refused, ([reason, value]) => ({ labels: { reason }, value })),
    },
    metric("portway_capture_commits_total", "counter", "Commits that kept them.", commits),
    metric("portway_capture_commit_seconds_total", "counter", "Time that those took, together.", commitMs / 1000),
    metric("portway_view_tails", "gauge", "Streams that follow a request view now.", tails),
  ];
}

/**
 * Figures of what is loaded late: none when that cannot be had now, as the log has said why, and whoever watches the
 * server wants all others all the more.
 * @throws what `describe` throws
 */
export async function describeLate<T extends object>(
  late: Lazy<T>,
  describe: (loaded: T) => readonly Metric[],
): Promise<readonly Metric[]> {
  const loaded = await late.load().catch(() => null);
  return loaded === null ? [] : describe(loaded);
}

/** The process, by the names that Prometheus has for it. */
export function describeProcess(): Metric[] {
  const { rss, heapUsed } = process.memoryUsage(), { user, system } = process.cpuUsage();
  const startedAt = Date.now() / 1000 - process.uptime();
  const release = { labels: { version: RELEASE }, value: 1 };
  return [
    { name: "portway_build_info", help: "The release that runs.", type: "gauge", values: [release] },
    metric("process_resident_memory_bytes", "gauge", "Memory of the process.", rss),
    metric("portway_heap_used_bytes", "gauge", "Memory of objects in use.", heapUsed),
    metric("process_cpu_seconds_total", "counter", "Time of processors.", (user + system) / 1e6),
    metric("process_start_time_seconds", "gauge", "When the process began, since 1970.", Math.round(startedAt)),
  ];
}

/** Where metrics are read. */
export interface MetricsServer {
  readonly url: URL;
  abort(): void;
}

/**
 * Tells metrics at `/metrics`, on an address of their own: whoever reaches the server's public one learns none of them.
 * @param read called for each request
 * @throws Error with a line for the operator when the address cannot be had
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

/**
 * Whether a Host header names this machine directly. A page whose name resolves to a loopback address (DNS rebinding) sends
 * its own name.
 */
function isDirectHost(host: string): boolean {
  const name = bareHostname(host.replace(/:\d*$/, ""));
  return isLoopbackAddress(name) || isIP(name) !== 0;
}

/** Descriptors that are kept from strangers are not taken by whoever reads this. */
const LIMITS = { maxConnections: 64 };
const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";
