import { BROWSER, type GenerateLoad } from "../load/mod.ts";
import type { Contestant } from "../programs/types.ts";

/** At 128 connections the last of what runs often is compiled after five seconds or so, on two processors. */
const SECONDS = 8;

/**
 * Has a contestant answer small requests until its code has been compiled: the first ten thousand cost two to three times
 * as much as the rest, whoever they are measured with.
 * @throws Error when requests failed
 */
export async function warmUp({ endpoint }: Pick<Contestant, "endpoint">, generate: GenerateLoad): Promise<void> {
  await generate({ endpoint, path: "/", head: BROWSER, connections: 128, seconds: SECONDS });
}

/** Warms up one after the other. Whoever fails does so again where it is told. */
export async function warmUpAll(all: readonly Contestant[], generate: GenerateLoad): Promise<void> {
  for (const contestant of all) await warmUp(contestant, generate).catch(() => {});
}
