/** Allowed edits in letters. Long words may differ by a third, short ones by less. */
const FEW = 2;
/** Two edits in such a short word make another word. */
const SHORT = 4;

/** Longest compared word. */
const MAX_LENGTH = 64;

/** Returns the most similar word, or null without a similar one. */
export function findClosest(given: string, words: readonly string[]): string | null {
  if (given.length > MAX_LENGTH) return null;
  const letters = given.replace(/^-+/, "");
  let best: string | null = null,
    least = Math.max(letters.length <= SHORT ? 1 : FEW, Math.floor(letters.length / 3)) + 1;
  for (const word of words) {
    const bare = word.replace(/^-+/, "");
    // A prefix or an extension matches, except for short words, which start many others.
    const isPart = letters.length > FEW && (bare.startsWith(letters) || letters.startsWith(`${bare}-`));
    const distance = isPart ? 1 : countEdits(letters, bare);
    if (distance < least && distance < bare.length) [best, least] = [word, distance];
  }
  return best;
}

/** Counts the insertions, deletions, changes and swaps between two words (optimal string alignment). */
export function countEdits(from: string, to: string): number {
  let older: number[] = [], old = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const changed = old[j - 1] + (from[i - 1] === to[j - 1] ? 0 : 1);
      row[j] = Math.min(changed, old[j] + 1, row[j - 1] + 1);
      const isSwap = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      if (isSwap) row[j] = Math.min(row[j], older[j - 2] + 1);
    }
    [older, old] = [old, row];
  }
  return old[to.length];
}
