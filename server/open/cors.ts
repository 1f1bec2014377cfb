import { isIP } from "node:net";
import { bareHostname } from "../../common/bare_hostname.ts";
import type { Logger } from "../../common/log.ts";
import { isLoopbackAddress, isLoopbackHost } from "../../common/loopback.ts";
import type { ProxyConfig } from "../config.ts";
import { Cors } from "../http/mod.ts";
import { openOriginReader } from "./origin_reader.ts";

/**
 * Creates the CORS rules by the options.
 * @param url the server's public URL
 * @throws OptionError for a malformed entry in `--trusted-proxies`
 */
export function openCors(config: ProxyConfig, url: URL, log: Logger): Cors {
  const origins = config.proxyOrigins.length > 0 ? config.proxyOrigins : isLoopbackAddress(config.host) ? ["*"] : [];
  const readOrigin = openOriginReader(config);
  if (origins.includes("*") && (config.proxyAllow.length > 0 || config.proxyFiles !== null) && !config.proxyToken) {
    log.warn("proxy_open", { hint: "any page that you visit can use the proxy; set --proxy-origins or --proxy-token" });
  }
  return new Cors({
    origins,
    requestOrigin: (exchange) => {
      const { proto, host } = readOrigin(exchange);
      return host.toLowerCase() === url.host ? url.origin : `${proto}://${host}`;
    },
    isOwnOrigin: (origin) => origin === url.origin || isAddressOrigin(origin),
  });
}

/** Whether an origin's host is an address or localhost, which DNS cannot redirect. */
function isAddressOrigin(origin: string): boolean {
  const url = URL.parse(origin);
  return url !== null && (isLoopbackHost(url.hostname) || isIP(bareHostname(url.hostname)) !== 0);
}
