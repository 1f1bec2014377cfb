import os from "node:os";
import { listen } from "../../net/listener/mod.ts";
import type { Exchange, Listener } from "../../net/listener/mod.ts";
import type { FetchInfo, FetchTarget } from "../../common/fetch_target.ts";
import { errorResponse, HttpError } from "../../common/http_error.ts";
import { type Logger, silentLogger } from "../../common/log.ts";
import { listLanAddresses } from "./lan_addresses.ts";

/** Options for a server on the local network. */
export interface LocalServerOptions {
  target: FetchTarget;
  /** The address to bind. Default 0.0.0.0: all IPv4 interfaces; `::` adds IPv6. */
  hostname?: string;
  /** 0 selects a free port. */
  port: number;
  log?: Logger;
  /** Called for every request when its response begins. */
  onRequest?(request: LocalRequest): void;
}

/** A request as the log shows it. */
export interface LocalRequest {
  method: string;
  /** Path and query; they never contain a secret. */
  path: string;
  status: number;
  durationMs: number;
  /** The announced length of both bodies. */
  bytes: number;
}

/** A share or site on the local network. The caller closes it. */
export interface LocalServer {
  /** The server's URLs, this machine's own first. */
  readonly urls: readonly string[];
  readonly port: number;
  /** Closes the listener and the target. */
  close(): Promise<void>;
}

/**
 * Serves a target on the local network, without a relay.
 * @throws the system's error when the port is not available
 */
export async function serveLocally(options: LocalServerOptions): Promise<LocalServer> {
  const { target, hostname = "0.0.0.0", port, log = silentLogger } = options;
  const listener = await listen("edge", { hostname, port, log }, (exchange) => answer(exchange, options));
  return {
    urls: listAddresses(hostname).map((address) => `http://${formatAuthority(address, listener.port)}/`),
    port: listener.port,
    close: () => closeBoth(listener, target),
  };
}

async function closeBoth(listener: Listener, target: FetchTarget): Promise<void> {
  listener.abort();
  await target.close();
}

async function answer(exchange: Exchange, { target, onRequest }: LocalServerOptions): Promise<Response> {
  const started = performance.now();
  const response = isOwnHost(exchange.host)
    ? await target.fetch(exchange.request, describe(exchange))
    : refuseHost(exchange);
  onRequest?.({
    method: exchange.method,
    path: exchange.path,
    status: response.status,
    durationMs: performance.now() - started,
    bytes: Number(exchange.header("content-length") ?? 0) + Number(response.headers.get("content-length") ?? 0),
  });
  return response;
}

function describe({ path, remoteAddress }: Exchange): FetchInfo {
  // `OPTIONS *` asks about the whole target (RFC 9110, section 9.3.7).
  return { path: path === "*" ? "/" : path, remoteAddress, isDirect: true };
}

/**
 * Whether a Host header names this machine: an address, `localhost` or its own name. Otherwise a foreign page whose
 * name resolves to this machine (DNS rebinding) would have the share's origin.
 */
function isOwnHost(host: string): boolean {
  const name = host.replace(/:\d+$/, "").toLowerCase();
  const own = os.hostname().toLowerCase();
  return name === "" || /^(?:\d+\.){3}\d+$|^\[[0-9a-f:.]+\]$/.test(name) || name === "localhost" ||
    name.endsWith(".localhost") || name === own || name === `${own}.local` || name === own.split(".")[0];
}

function refuseHost(exchange: Exchange): Response {
  const error = new HttpError(421, "foreign_host", "This server does not go by that name; use its address.");
  return errorResponse(error, exchange.header("accept"));
}

/** Returns the addresses where a server bound to `hostname` is reachable, this machine's own name first. */
function listAddresses(hostname: string): string[] {
  const families = FAMILIES.get(hostname);
  if (families === undefined) return [hostname];
  return ["localhost", ...listLanAddresses(os.networkInterfaces(), families)];
}

/** Wildcard addresses with the families that they include. */
const FAMILIES: ReadonlyMap<string, readonly string[]> = new Map([["0.0.0.0", ["IPv4"]], ["::", ["IPv4", "IPv6"]]]);

/** Returns host and port as a URL writes them. */
export function formatAuthority(address: string, port: number): string {
  return `${address.includes(":") ? `[${address}]` : address}:${port}`;
}
