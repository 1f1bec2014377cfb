/** The middle value; of an even number the upper of the two in the middle. NaN for none. */
export function median(values: readonly number[]): number {
  if (values.length === 0) return NaN;
  return values.toSorted((a, b) => a - b)[values.length >> 1];
}

/** The value below which `share` (0 to 1) of them lie. NaN for none. */
export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) return NaN;
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

/** Half the distance between the smallest and the largest value, as a share of the median. */
export function spread(values: readonly number[]): number {
  return (Math.max(...values) - Math.min(...values)) / 2 / median(values);
}

/** The median of each field over several rounds. */
export function medianOf<Fields extends Record<keyof Fields, number>>(rounds: readonly Fields[]): Fields {
  const result = { ...rounds[0] };
  for (const key of Object.keys(result) as (keyof Fields)[]) {
    // The fields of `Fields` are numbers by its bound; the compiler does not carry that over to a copy.
    result[key] = median(rounds.map((round) => round[key])) as Fields[keyof Fields];
  }
  return result;
}
