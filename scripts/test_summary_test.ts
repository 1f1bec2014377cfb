import { deepEqual } from "node:assert/strict";
import { findFailures, parseTestSummary } from "./_test_summary.ts";

function parse(output: string, success: boolean) {
  const reasons: string[] = [];
  const tally = parseTestSummary(output, success, (reason) => reasons.push(reason));
  return [tally, ...reasons];
}

Deno.test("parseTestSummary counts tests, not their steps", () => {
  deepEqual(parse("FAILED | 3 passed (12 steps) | 2 failed (1 step) | 1 ignored (4ms)\n", false), [
    { passed: 3, failed: 2, skipped: 1 },
  ]);
});

Deno.test("parseTestSummary sees through colours and leaves filtered tests out", () => {
  deepEqual(
    parse("\n\x1b[0m\x1b[32mok\x1b[0m | 7 passed | 0 failed | 40 filtered out \x1b[38;5;245m(10ms)\x1b[0m\n", true),
    [
      { passed: 7, failed: 0, skipped: 0 },
    ],
  );
});

Deno.test("parseTestSummary takes the last summary, as a test may print one of its own", () => {
  deepEqual(parse("ok | 9 passed | 0 failed (1ms)\nFAILED | 1 passed | 1 failed (2ms)\n", false), [
    { passed: 1, failed: 1, skipped: 0 },
  ]);
});

Deno.test("parseTestSummary counts a run that died as one failure", () => {
  deepEqual(parse("running 3 tests\n", false), [
    { passed: 0, failed: 1, skipped: 0 },
    "the tests ended without a summary",
  ]);
});

Deno.test("parseTestSummary counts a run that failed outside its tests", () => {
  deepEqual(parse("ok | 5 passed | 0 failed (1ms)\n", false), [
    { passed: 5, failed: 1, skipped: 0 },
    "the run failed outside its tests",
  ]);
});

Deno.test("findFailures has the run's own errors and names without colours, and nothing of what a test printed", () => {
  const inner = "\n ERRORS \n\ninner => ./x.ts:1:1\n\nFAILED | 0 passed | 1 failed (1ms)\n";
  const own = "one => ./a_test.ts:2:6\n\x1b[31merror\x1b[0m: Error: x\n\n FAILURES \n\none => ./a_test.ts:2:6";
  deepEqual(
    findFailures(`${inner}one ... FAILED\n\n\x1b[31m ERRORS \x1b[0m\n\n${own}\n\nFAILED | 1 passed | 1 failed (2ms)\n`),
    "ERRORS \n\none => ./a_test.ts:2:6\nerror: Error: x\n\n FAILURES \n\none => ./a_test.ts:2:6",
  );
});

Deno.test("findFailures has nothing of a run in which all passed", () => {
  deepEqual(findFailures("\n ERRORS \n\nof an inner run\n\nok | 9 passed | 0 failed (1ms)\n"), "");
});
