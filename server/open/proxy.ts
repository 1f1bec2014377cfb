import type { Logger } from "../../common/log.ts";
import { isLoopbackAddress } from "../../common/loopback.ts";
import { networkOf } from "../../net/forwarded.ts";
import type { ProxyConfig } from "../config.ts";
import type { Area, Cors, Handler } from "../http/mod.ts";
import { knowOwn, type KnowOwnOptions } from "./know_own.ts";
import { openOriginReader } from "./origin_reader.ts";
import { CorsProxy } from "../proxy/mod.ts";

/** What the CORS proxy needs of the server that it runs in. */
export interface OpenProxyOptions extends KnowOwnOptions {
  config: ProxyConfig;
  cors: Cors;
  /** Set where the server is nothing but the proxy. */
  alone: { openPaths: boolean } | null;
  log: Logger;
}

/** Descriptions are parsed in memory, whatever responses may have. */
const MAX_DESCRIPTION_BYTES = 2 ** 29;
/** Used where anybody can call. */
const DEFAULT_REQUESTS_PER_MINUTE = 300;

/**
 * The proxy as the options want it. It answers its own errors: pages of other origins may read them.
 * @throws SyntaxError for an entry of `--proxy-allow` that cannot be read
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
  const face: Handler = { handle: (exchange) => proxy.takes(exchange) ? proxy.handle(exchange) : undefined };
  return { handlers: [face], close: () => proxy.close() };
}
