import assert from "node:assert/strict";
import { formatNumber, formatTable } from "./table.ts";

Deno.test("formatTable puts numbers to the right and texts to the left", () => {
  const table = formatTable(["row", "ms"], [["a", "1.50"], ["long name", "12.0"]]);
  assert.equal(
    table,
    "| row       |   ms |\n|-----------|-----:|\n| a         | 1.50 |\n| long name | 12.0 |\n",
  );
});

Deno.test("formatNumber keeps three digits and shows what was not measured as a dash", () => {
  assert.deepEqual([1234.5, 12.34, 1.234, NaN].map(formatNumber), ["1235", "12.3", "1.23", "–"]);
});
