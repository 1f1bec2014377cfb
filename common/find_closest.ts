/** How far a word may be from what was meant, in letters; a long word may be as far as a third of it, a short one less. */
const FEW = 2;
/** With two of so few letters changed, a word is another one. */
const SHORT = 4;

/** The longest word that is compared: nobody mistypes a longer one. */
const MAX_LENGTH = 64;

/** The word that somebody who typed `given` most likely meant; null when none is near. */
export function findClosest(given: string, words: readonly string[]): string | null {
  if (given.length > MAX_LENGTH) return null;
  const letters = given.replace(/^-+/, "");
  let best: string | null = null,
    least = Math.max(letters.length <= SHORT ? 1 : FEW, Math.floor(letters.length / 3)) + 1;
  for (const word of words) {
    const bare = word.replace(/^-+/, "");
    // A flag that was begun, or that has more to it; but any short word is the beginning of something.
    const isPart = letters.length > FEW && (bare.startsWith(letters) || letters.startsWith(`${bare}-`));
    const distance = isPart ? 1 : countEdits(letters, bare);
    if (distance < least && distance < bare.length) [best, least] = [word, distance];
  }
  return best;
}

/** Letters to add, drop, change or swap with the next one that make one word the other (optimal string alignment). */
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
