/** Outcomes counted. */
export interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

/** The colours of a terminal taken out. */
function strip(output: string): string {
  // deno-lint-ignore no-control-regex -- that is what a colour begins with
  return output.replace(/\x1b\[[0-9;]*m/g, "");
}

/**
 * Returns the failures in `deno test` output, each with its error, and all names last, to repeat them at the end. Empty
 * without failures.
 */
export function findFailures(output: string): string {
  const plain = strip(output);
  // Tests may print anything, an inner run's errors included: the last heading is the run's own.
  const start = plain.lastIndexOf("\n ERRORS \n");
  const end = plain.lastIndexOf("\nFAILED | ");
  return start < 0 || end < start ? "" : plain.slice(start, end).trim();
}

/**
 * Parses the summary of `deno test`. Steps and filtered tests do not count. A run that died before its summary, or
 * failed outside any test, counts as one failure and is passed to `report`.
 */
export function parseTestSummary(output: string, success: boolean, report: (reason: string) => void): Tally {
  const plain = strip(output);
  // Tests may print anything, a summary of an inner run included: the last line of that form is the run's own.
  const line = plain.match(/^(?:ok|FAILED) \| \d+ passed.*$/gm)?.at(-1);
  const count = (word: string) => Number(line?.match(new RegExp(`(\\d+) ${word}`))?.[1] ?? 0);
  const tally = { passed: count("passed"), failed: count("failed"), skipped: count("ignored") };
  if (!success && tally.failed === 0) {
    report(line === undefined ? "the tests ended without a summary" : "the run failed outside its tests");
    tally.failed = 1;
  }
  return tally;
}
