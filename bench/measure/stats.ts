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

/** A figure, and how far it may be off. */
export interface Estimate {
  value: number;
  /** The standard error of {@link value}; NaN where too little was measured to tell. */
  error: number;
}

/** What was measured once. */
export const once = (value: number): Estimate => ({ value, error: NaN });

/** The normal distribution's interquartile range, and its median's standard error beside that of its mean. */
const NORMAL_IQR = 1.349, MEDIAN_LOSS = 1.253;
const LEAST_ROUNDS = 4;

/**
 * Ours divided by theirs, round by round, as what else the machine did hits neighbours alike; and how far such a median
 * may be off, by the rounds' interquartile range. Where one has lost a round they have no pairs, and medians are divided.
 */
export function ratioOf(ours: readonly number[], theirs: readonly number[]): Estimate {
  if (ours.length !== theirs.length) return once(median(ours) / median(theirs));
  const ratios = ours.map((value, round) => value / theirs[round]);
  const range = percentile(ratios, 0.75) - percentile(ratios, 0.25);
  const error = MEDIAN_LOSS * range / NORMAL_IQR / Math.sqrt(ratios.length);
  return { value: median(ratios), error: ratios.length < LEAST_ROUNDS ? NaN : error };
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
