import assert from "node:assert/strict";
import { coarseNow } from "./event_loop.ts";

Deno.test("coarseNow is one for all that is done in a row, and goes on with the next turn", async () => {
  const before = performance.now(), first = coarseNow();
  assert(first >= before);
  while (performance.now() - first < 2);
  assert.equal(coarseNow(), first);
  await new Promise((resolve) => setTimeout(resolve));
  const next = coarseNow();
  assert(next - first >= 2, `${next - first} ms`);
  assert(next <= performance.now());
});
