import os from "node:os";
import { listen } from "../../net/listener/mod.ts";
import type { Exchange, Listener } from "../../net/listener/mod.ts";
import type { FetchInfo, FetchTarget } from "../../common/fetch_target.ts";
import { errorResponse, HttpError } from "../../common/http_error.ts";
import { type Logger, silentLogger } from "../../common/log.ts";
import { listLanAddresses } from "./lan_addresses.ts";

/** What is served on a port of this machine, and to whom. */
export interface LocalServerOptions {
  target: FetchTarget;
  /** Address to bind. Default 0.0.0.0: everyone on the network by IPv4; `::` takes IPv6 as well. */
  hostname?: string;
  /** 0 takes a free one. */
  port: number;
  log?: Logger;
  /** Told of every request when its answer begins. */
  onRequest?(request: LocalRequest): void;
}

/** What a request to a share on the local network is shown by. */
export interface LocalRequest {
  method: string;
  /** Path and query; no secret is ever in them. */
  path: string;
  status: number;
  durationMs: number;
  /** Length of the two bodies as announced. */
  bytes: number;
}

/** A share or site that others on the local network reach. Whoever opened it closes it. */
export interface LocalServer {
  /** The addresses it can be reached at, this machine's own first. */
  readonly urls: readonly string[];
  readonly port: number;
  /** Ends the listener and the target. */
  close(): Promise<void>;
}

/**
 * Serves a target on the local network, without a relay.
 * @throws whatever the system says when the port cannot be had
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
  return { path, remoteAddress, isDirect: true };
}

/**
 * Whether a Host header names this machine: an address, `localhost` or its own name. A page of a stranger whose name
 * leads here (DNS rebinding) would otherwise be of the same origin as the share.
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

/** The addresses that something bound to `hostname` can be reached at, this machine's own name first. */
function listAddresses(hostname: string): string[] {
  const families = FAMILIES.get(hostname);
  if (families === undefined) return [hostname];
  return ["localhost", ...listLanAddresses(os.networkInterfaces(), families)];
}

/** What stands for every address of the machine, and the kinds it stands for. */
const FAMILIES: ReadonlyMap<string, readonly string[]> = new Map([["0.0.0.0", ["IPv4"]], ["::", ["IPv4", "IPv6"]]]);

/** Host and port as they stand in a URL. */
export function formatAuthority(address: string, port: number): string {
  return `${address.includes(":") ? `[${address}]` : address}:${port}`;
}
