import type { Logger } from "../../common/log.ts";
import { isLoopbackAddress } from "../../common/loopback.ts";
import { networkOf } from "../../net/forwarded.ts";
import type { ProxyConfig } from "../config.ts";
import type { Area, Cors, Handler } from "../http/mod.ts";
import { knowOwn, type KnowOwnOptions } from "./know_own.ts";
import { openOriginReader } from "./origin_reader.ts";
import { CorsProxy } from "../proxy/mod.ts";

/** The CORS proxy's dependencies. */
export interface OpenProxyOptions extends KnowOwnOptions {
  config: ProxyConfig;
  cors: Cors;
  /** Set for `portway proxy`, a server without other areas. */
  alone: { openPaths: boolean } | null;
  log: Logger;
}

/** The limit for descriptions, which are parsed in memory, if responses may be larger. */
const MAX_DESCRIPTION_BYTES = 2 ** 29;
/** The default on addresses that others can reach. */
const DEFAULT_REQUESTS_PER_MINUTE = 300;

/**
 * Opens the proxy by the options. It creates its own error responses, which pages from other origins may read.
 * @throws SyntaxError for a malformed entry in `--proxy-allow`
 */
export function openProxy(options: OpenProxyOptions): Area {
  const { alone, config, cors, log } = options;
  const perMinute = config.proxyRequestsPerMinute ?? (isLoopbackAddress(config.host) ? 0 : DEFAULT_REQUESTS_PER_MINUTE);
  const readOrigin = openOriginReader(config);
  const proxy = new CorsProxy({
    log,
    cors,
    allow: config.proxyAllow,
    ...knowOwn(options),
    addressOf: (exchange) => networkOf(readOrigin(exchange).address),
    files: config.proxyFiles,
    allowSkipTlsVerify: config.proxySkipTlsVerify,
    openPaths: alone?.openPaths ?? false,
    isAlone: alone !== null,
    token: config.proxyToken,
    requestsPerMinute: perMinute === 0 ? null : perMinute,
    maxConcurrent: config.proxyMaxRequests,
    maxBytes: config.proxyMaxBytes,
    maxDescriptionBytes: Math.min(Math.max(config.proxyMaxBytes, 1024), MAX_DESCRIPTION_BYTES),
    maxUploadBytes: config.proxyMaxUploadBytes,
    timeoutMs: config.proxyTimeoutSeconds * 1000,
    streamIdleMs: config.streamIdleSeconds * 1000,
  });
  const handler: Handler = { handle: (exchange) => proxy.takes(exchange) ? proxy.handle(exchange) : undefined };
  return { handlers: [handler], close: () => proxy.close() };
}
