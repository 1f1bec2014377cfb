import { later } from "../../common/later.ts";
import { nameSource, OptionError } from "../../common/options.ts";
import { serverOptions } from "../config.ts";

/**
 * Checks the lists of allowed hosts before the modules that use them load.
 * @throws OptionError for a malformed entry
 */
export async function checkAllowLists<List extends "proxyAllow" | "viewReplayAllow">(
  config: Readonly<Record<List, readonly string[]>>,
  lists: readonly List[],
): Promise<void> {
  if (lists.every((list) => config[list].length === 0)) return;
  const { parseAllowList }: typeof import("../guard/mod.ts") = await import(later("../guard/mod.ts"));
  for (const list of lists) {
    try {
      parseAllowList(config[list]);
    } catch (cause) {
      if (!(cause instanceof SyntaxError)) throw cause;
      throw new OptionError(`${nameSource(serverOptions, config, list)}: ${cause.message}`, { cause });
    }
  }
}
