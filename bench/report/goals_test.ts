import assert from "node:assert/strict";
import { formatGoals } from "./goals.ts";

Deno.test("formatGoals says met at the bound, not met beyond it, and not measured without a figure", () => {
  const table = formatGoals([
    { name: "a", value: 1.25, error: 0.017, bound: 1.25, kind: "at most" },
    { name: "b", value: 4.9, bound: 5, kind: "at least" },
    { name: "c", value: NaN, bound: 1, kind: "at least" },
  ]);
  const met = table.split("\n").slice(2, 5).map((line) => line.split("|").at(-2)?.trim());
  assert.match(table, /1\.25 ± 0\.02/);
  assert.deepEqual(met, ["yes", "no", "not measured"]);
});
