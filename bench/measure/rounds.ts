import type { Contestant } from "../programs/types.ts";

/** What one contestant did in every round, in order. */
export type Rounds<Result> = Map<Contestant, Result[]>;

/** A contestant that takes longer for one measurement has failed it. */
const LIMIT_MS = 60_000;

/**
 * Measures the contestants in turn, A B C A B C: what else the machine does then hits them alike.
 * A contestant that fails loses that round; `onFailure` is told.
 */
export async function runRounds<Result>(
  contestants: readonly Contestant[],
  count: number,
  measure: (contestant: Contestant) => Promise<Result>,
  onFailure: (contestant: Contestant, error: unknown) => void,
): Promise<Rounds<Result>> {
  const rounds: Rounds<Result> = new Map(contestants.map((contestant) => [contestant, []]));
  for (let round = 0; round < count; round++) {
    for (const contestant of contestants) {
      try {
        rounds.get(contestant)?.push(await withinLimit(measure(contestant)));
      } catch (error) {
        onFailure(contestant, error);
      }
    }
  }
  return rounds;
}

function withinLimit<Result>(work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("it did not finish within a minute")), LIMIT_MS);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
