import assert from "node:assert/strict";
import { median, medianOf, percentile, spread } from "./stats.ts";

Deno.test("median takes the middle of unsorted values and none of nothing", () => {
  assert.equal(median([10, 2, 30]), 10);
  assert.ok(Number.isNaN(median([])));
});

Deno.test("percentile takes the value below which that share lies", () => {
  assert.equal(percentile(Array.from({ length: 100 }, (_, i) => i), 0.99), 99);
});

Deno.test("spread is half the range as a share of the median", () => {
  assert.equal(spread([8, 10, 12]), 0.2);
});

Deno.test("medianOf takes the median of each field on its own", () => {
  assert.deepEqual(medianOf([{ a: 1, b: 9 }, { a: 2, b: 8 }, { a: 3, b: 1 }]), { a: 2, b: 8 });
});
