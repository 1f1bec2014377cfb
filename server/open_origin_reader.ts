import { createOriginReader, type OriginReader } from "../common/forwarded.ts";
import { OptionError } from "../common/options.ts";

/**
 * The reader that believes the proxies of `--trusted-proxies`.
 * @throws OptionError for an entry that is no address or range
 */
export function openOriginReader(trustedProxies: readonly string[]): OriginReader {
  try {
    return createOriginReader(trustedProxies);
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new OptionError(`--trusted-proxies: ${cause.message}`, { cause });
  }
}
