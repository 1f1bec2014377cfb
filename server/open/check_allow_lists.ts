import { later } from "../../common/later.ts";
import { OptionError } from "../../common/options.ts";
import type { ServerConfig } from "../config.ts";

/**
 * Refuses what cannot be read of the lists of what may be reached, before anything that uses them is loaded.
 * @throws OptionError that names the entry
 */
export async function checkAllowLists(config: Pick<ServerConfig, "proxyAllow" | "viewReplayAllow">): Promise<void> {
  const { proxyAllow, viewReplayAllow } = config;
  if (proxyAllow.length === 0 && viewReplayAllow.length === 0) return;
  const { parseAllowList }: typeof import("../guard/mod.ts") = await import(later("../guard/mod.ts"));
  for (const [flag, entries] of [["--proxy-allow", proxyAllow], ["--view-replay-allow", viewReplayAllow]] as const) {
    try {
      parseAllowList(entries);
    } catch (cause) {
      if (!(cause instanceof SyntaxError)) throw cause;
      throw new OptionError(`${flag}: ${cause.message}`, { cause });
    }
  }
}
