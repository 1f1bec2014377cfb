/** Outcomes counted. */
export interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

/**
 * What `deno test` says it did. Steps of a test are not counted, and tests that a filter left out are no skipped ones.
 * A run that died before its summary, or failed outside any test, counts as one failure and is told to `report`.
 */
export function parseTestSummary(output: string, success: boolean, report: (reason: string) => void): Tally {
  // deno-lint-ignore no-control-regex -- the colours of a terminal
  const plain = output.replace(/\x1b\[[0-9;]*m/g, "");
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
