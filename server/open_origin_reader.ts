import { createOriginReader, type OriginReader } from "../common/forwarded.ts";
import { nameSource, OptionError } from "../common/options.ts";
import { type ProxyConfig, proxyOnlyOptions } from "./config.ts";

/**
 * The reader that believes the proxies of `--trusted-proxies`.
 * @throws OptionError for an entry that is no address or range
 */
export function openOriginReader(config: ProxyConfig): OriginReader {
  try {
    return createOriginReader(config.trustedProxies);
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new OptionError(`${nameSource(proxyOnlyOptions, config, "trustedProxies")}: ${cause.message}`, { cause });
  }
}
