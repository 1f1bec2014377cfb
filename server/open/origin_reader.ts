import { createOriginReader, createTrustCheck, type OriginReader } from "../../net/forwarded.ts";
import { nameSource, OptionError } from "../../common/options.ts";
import { type ProxyConfig, proxyOnlyOptions } from "../config.ts";

/**
 * Creates the reader that trusts the proxies in `--trusted-proxies`.
 * @throws OptionError for an entry that is neither an address nor a range
 */
export function openOriginReader(config: ProxyConfig): OriginReader {
  return nameOption(config, () => createOriginReader(config.trustedProxies));
}

/**
 * Creates the test for addresses in `--trusted-proxies`.
 * @throws OptionError for an entry that is neither an address nor a range
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
