import { createOriginReader, createTrustCheck, type OriginReader } from "../../net/forwarded.ts";
import { nameSource, OptionError } from "../../common/options.ts";
import { type ProxyConfig, proxyOnlyOptions } from "../config.ts";

/**
 * The reader that believes the proxies of `--trusted-proxies`.
 * @throws OptionError for an entry that is no address or range
 */
export function openOriginReader(config: ProxyConfig): OriginReader {
  return nameOption(config, () => createOriginReader(config.trustedProxies));
}

/**
 * The test of whether an address is one of `--trusted-proxies`.
 * @throws OptionError for an entry that is no address or range
 */
export function openTrustCheck(config: ProxyConfig): (address: string) => boolean {
  return nameOption(config, () => createTrustCheck(config.trustedProxies));
}

function nameOption<T>(config: ProxyConfig, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new OptionError(`${nameSource(proxyOnlyOptions, config, "trustedProxies")}: ${cause.message}`, { cause });
  }
}
