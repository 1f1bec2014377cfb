import { isIP } from "node:net";
import { networkOf } from "../common/network.ts";
import type { Logger } from "../common/log.ts";
import { isLoopbackAddress, isLoopbackHost } from "../common/loopback.ts";
import { OptionError } from "../common/options.ts";
import type { ProxyConfig } from "./config.ts";
import { bareHostname } from "./guard/mod.ts";
import { knowOwn } from "./know_own.ts";
import { openOriginReader } from "./open_origin_reader.ts";
import { CorsProxy } from "./proxy/mod.ts";

/** What the CORS proxy needs of the server that it runs in. */
export interface OpenProxyOptions {
  config: ProxyConfig;
  /** Where this server is reached. */
  url: URL;
  /** The port it listens on. */
  port: number;
  /** Whether a host name is one of this server's tunnels. */
  isTunnelHost: (hostname: string) => boolean;
  /** Set where the server is nothing but the proxy. */
  alone: { openPaths: boolean } | null;
  log: Logger;
}

/** Used where anybody can call. */
const DEFAULT_REQUESTS_PER_MINUTE = 300;

/**
 * The proxy as the options want it.
 * @throws OptionError for an entry of `--proxy-allow` or `--trusted-proxies` that cannot be read
 */
export function openProxy(options: OpenProxyOptions): CorsProxy {
  try {
    return createConfiguredProxy(options);
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new OptionError(`--proxy-allow: ${cause.message}`, { cause });
  }
}

function createConfiguredProxy({ config, url, port, isTunnelHost, alone, log }: OpenProxyOptions): CorsProxy {
  const isLocal = isLoopbackAddress(config.host);
  const origins = config.proxyOrigins.length > 0 ? config.proxyOrigins : isLocal ? ["*"] : [];
  const perMinute = config.proxyRequestsPerMinute ?? (isLocal ? 0 : DEFAULT_REQUESTS_PER_MINUTE);
  const readOrigin = openOriginReader(config);
  if (origins.includes("*") && (config.proxyAllow.length > 0 || config.proxyFiles !== null) && !config.proxyToken) {
    log.warn("proxy_open", { hint: "any page you visit can use it; set --proxy-origins or --proxy-token" });
  }
  return new CorsProxy({
    log,
    allow: config.proxyAllow,
    ...knowOwn({ config, url, port, isTunnelHost }),
    requestOrigin: (exchange) => {
      const { proto, host } = readOrigin(exchange);
      return host.toLowerCase() === url.host ? url.origin : `${proto}://${host}`;
    },
    isOwnOrigin: (origin) => origin === url.origin || isAddressOrigin(origin),
    addressOf: (exchange) => networkOf(readOrigin(exchange).address),
    origins,
    files: config.proxyFiles,
    allowSkipTlsVerify: config.proxySkipTlsVerify,
    openPaths: alone?.openPaths ?? false,
    isAlone: alone !== null,
    token: config.proxyToken,
    requestsPerMinute: perMinute === 0 ? null : perMinute,
    maxConcurrent: config.proxyMaxRequests,
    maxBytes: config.proxyMaxBytes,
    maxDescriptionBytes: config.proxyMaxDescriptionBytes,
    maxUploadBytes: config.proxyMaxUploadBytes,
    timeoutMs: config.proxyTimeoutSeconds * 1000,
    streamIdleMs: config.streamIdleSeconds * 1000,
  });
}

/** Whether an origin has an address or localhost for its host, which nobody can have lead elsewhere. */
function isAddressOrigin(origin: string): boolean {
  const url = URL.parse(origin);
  return url !== null && (isLoopbackHost(url.hostname) || isIP(bareHostname(url.hostname)) !== 0);
}
