import { BROWSER, type GenerateLoad } from "../load/mod.ts";
import type { Contestant } from "../programs/types.ts";

/** At 128 connections the last of what runs often is compiled after five seconds or so, on two processors. */
const SECONDS = 8;

/**
 * Has a contestant answer small requests until its code has been compiled: the first ten thousand cost two to three times
 * as much as the rest, whoever they are measured with. One that fails will tell when it is measured.
 */
export async function warmUp({ endpoint }: Pick<Contestant, "endpoint">, generate: GenerateLoad): Promise<void> {
  await generate({ endpoint, path: "/", head: BROWSER, connections: 128, seconds: SECONDS }).catch(() => {});
}
