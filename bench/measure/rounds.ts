import type { Contestant } from "../programs/types.ts";
import { readProcessors } from "./process_stats.ts";

/** What one contestant did in every round, in order; nothing of a round in which it failed. */
export type Rounds<Result> = Map<Contestant, Result[]>;

/** A contestant that takes longer for one measurement has failed it. */
const LIMIT_MS = 60_000;

/** What a virtual machine's host may take of its processors for others during a measurement, as a share. */
export const MAX_STOLEN = 0.05;
/** Measurements in a row in search of one that was left in peace. */
export const MAX_TRIES = 3;

/**
 * Measures the contestants in turn, each round in another order: what else the machine does then hits them alike, and
 * nobody always comes behind the same one. What a host's other guests disturb is measured again, as they come and go in
 * seconds; of several in a row the least disturbed counts. A contestant that fails loses that round; `onFailure` is told.
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

/** A copy in a random order. */
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

/** Measures, and says what share of the processors' time the host took meanwhile. */
async function measureStolen<Result>(measure: () => Promise<Result>): Promise<{ result: Result; stolen: number }> {
  const before = readProcessors(), result = await measure(), after = readProcessors();
  const all = after.all - before.all;
  return { result, stolen: all === 0 ? 0 : (after.stolen - before.stolen) / all };
}

function withinLimit<Result>(work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("it did not finish within a minute")), LIMIT_MS);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
