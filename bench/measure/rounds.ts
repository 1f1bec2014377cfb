import type { Contestant } from "../programs/types.ts";
import { readProcessors } from "./process_stats.ts";

/** A contestant's results for every round, in order, without failed rounds. */
export type Rounds<Result> = Map<Contestant, Result[]>;

/** Longer measurements count as failures. */
const LIMIT_MS = 60_000;

/** Largest CPU share that a virtual machine's host may take during a measurement. */
export const MAX_STOLEN = 0.05;
/** Consecutive attempts to get an undisturbed measurement. */
export const MAX_TRIES = 3;

/**
 * Measures the contestants in turn, with a different order in each round, so that other load affects all alike.
 * Measures again when the host's other guests disturb a measurement, and keeps the least disturbed attempt. A
 * contestant that fails loses the round, and `onFailure` is called.
 */
export async function runRounds<Result>(
  contestants: readonly Contestant[],
  count: number,
  measure: (contestant: Contestant) => Promise<Result>,
  onFailure: (contestant: Contestant, error: unknown) => void,
): Promise<Rounds<Result>> {
  const rounds: Rounds<Result> = new Map(contestants.map((contestant) => [contestant, []]));
  for (let round = 0; round < count; round++) {
    for (const contestant of shuffled(contestants)) {
      try {
        rounds.get(contestant)?.push(await measureInPeace(() => withinLimit(measure(contestant))));
      } catch (error) {
        onFailure(contestant, error);
      }
    }
  }
  return rounds;
}

/** Returns a copy in random order. */
function shuffled<One>(ones: readonly One[]): One[] {
  const copy = [...ones];
  for (let last = copy.length - 1; last > 0; last--) {
    const at = Math.floor(Math.random() * (last + 1));
    [copy[last], copy[at]] = [copy[at], copy[last]];
  }
  return copy;
}

async function measureInPeace<Result>(measure: () => Promise<Result>): Promise<Result> {
  let best = await measureStolen(measure);
  for (let tries = 1; tries < MAX_TRIES && best.stolen > MAX_STOLEN; tries++) {
    const next = await measureStolen(measure);
    if (next.stolen < best.stolen) best = next;
  }
  return best.result;
}

/** Measures, and returns the CPU share that the host took meanwhile. */
async function measureStolen<Result>(measure: () => Promise<Result>): Promise<{ result: Result; stolen: number }> {
  const before = readProcessors(), result = await measure(), after = readProcessors();
  const all = after.all - before.all;
  return { result, stolen: all === 0 ? 0 : (after.stolen - before.stolen) / all };
}

function withinLimit<Result>(work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("the contestant did not finish within a minute")), LIMIT_MS);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
