import { BROWSER, type GenerateLoad } from "../load/mod.ts";
import type { Contestant } from "../programs/types.ts";

/** At 128 connections and two cores, V8 compiles the last hot code after about five seconds. */
const SECONDS = 8;

/**
 * Sends small requests until a contestant's code is compiled. The first ten thousand cost two to three times as much as
 * later ones.
 * @throws Error when requests failed
 */
export async function warmUp({ endpoint }: Pick<Contestant, "endpoint">, generate: GenerateLoad): Promise<void> {
  await generate({ endpoint, path: "/", head: BROWSER, connections: 128, seconds: SECONDS });
}

/** Warms up all contestants one after another. Failures occur again during the measurement. */
export async function warmUpAll(all: readonly Contestant[], generate: GenerateLoad): Promise<void> {
  for (const contestant of all) await warmUp(contestant, generate).catch(() => {});
}
