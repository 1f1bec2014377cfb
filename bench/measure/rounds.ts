import type { Contestant } from "../programs/types.ts";

/** What one contestant did in every round, in order. */
export type Rounds<Result> = Map<Contestant, Result[]>;

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
        rounds.get(contestant)?.push(await measure(contestant));
      } catch (error) {
        onFailure(contestant, error);
      }
    }
  }
  return rounds;
}
