/** Returns the middle value; for an even count the upper middle value. NaN without values. */
export function median(values: readonly number[]): number {
  if (values.length === 0) return NaN;
  return values.toSorted((a, b) => a - b)[values.length >> 1];
}

/** Returns the value above a `share` (0 to 1) of the values. NaN without values. */
export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) return NaN;
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

/** A figure with its error. */
export interface Estimate {
  value: number;
  /** Standard error for {@link value}; NaN after too few measurements. */
  error: number;
}

/** Wraps a single measurement. */
export const once = (value: number): Estimate => ({ value, error: NaN });

/** The normal distribution's interquartile range, and its median's standard error relative to its mean. */
const NORMAL_IQR = 1.349, MEDIAN_LOSS = 1.253;
const LEAST_ROUNDS = 4;

/**
 * Divides our figures by theirs round by round, because other load affects neighbours alike. The error comes from the
 * rounds' interquartile range. Without pairs, after a lost round, divides the medians.
 */
export function ratioOf(ours: readonly number[], theirs: readonly number[]): Estimate {
  if (ours.length !== theirs.length) return once(median(ours) / median(theirs));
  const ratios = ours.map((value, round) => value / theirs[round]);
  const range = percentile(ratios, 0.75) - percentile(ratios, 0.25);
  const error = MEDIAN_LOSS * range / NORMAL_IQR / Math.sqrt(ratios.length);
  return { value: median(ratios), error: ratios.length < LEAST_ROUNDS ? NaN : error };
}

/** Returns half the distance between extremes, relative to the median. */
export function spread(values: readonly number[]): number {
  return (Math.max(...values) - Math.min(...values)) / 2 / median(values);
}

/** Returns the median for each field over several rounds. */
export function medianOf<Fields extends Record<keyof Fields, number>>(rounds: readonly Fields[]): Fields {
  const result = { ...rounds[0] };
  for (const key of Object.keys(result) as (keyof Fields)[]) {
    // `Fields` contains numbers by its bound; the compiler does not apply that to a copy.
    result[key] = median(rounds.map((round) => round[key])) as Fields[keyof Fields];
  }
  return result;
}
