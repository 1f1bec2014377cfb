import assert from "node:assert/strict";
import { median, medianOf, percentile, ratioOf, spread } from "./stats.ts";

Deno.test("median takes the middle of unsorted values and none of nothing", () => {
  assert.equal(median([10, 2, 30]), 10);
  assert.ok(Number.isNaN(median([])));
});

Deno.test("percentile takes the value below which that share lies", () => {
  assert.equal(percentile(Array.from({ length: 100 }, (_, i) => i), 0.99), 99);
});

Deno.test("ratioOf pairs the rounds, and says how far off it may be once there are four", () => {
  // A machine that is ten times slower in one round is so for both.
  assert.deepEqual(ratioOf([20, 2, 20, 20, 20], [10, 1, 10, 10, 10]), { value: 2, error: 0 });
  const { value, error } = ratioOf([10, 11, 12, 13, 14, 15, 16, 17], Array(8).fill(1));
  assert.equal(value, 14);
  assert.ok(Math.abs(error - 1.253 * 4 / 1.349 / Math.sqrt(8)) < 1e-9);
  assert.deepEqual(ratioOf([4], [2]), { value: 2, error: NaN });
  assert.deepEqual(ratioOf([20, 20, 22], [1, 10]), { value: 2, error: NaN });
  assert.ok(Number.isNaN(ratioOf([], [1]).value));
});

Deno.test("spread is half the range as a share of the median", () => {
  assert.equal(spread([8, 10, 12]), 0.2);
});

Deno.test("medianOf takes the median of each field on its own", () => {
  assert.deepEqual(medianOf([{ a: 1, b: 9 }, { a: 2, b: 8 }, { a: 3, b: 1 }]), { a: 2, b: 8 });
});
