import assert from "node:assert/strict";
import { turnTime } from "./turn_clock.ts";

Deno.test("turnTime is one for all that is done in a row, and goes on with the next turn", async () => {
  const before = performance.now(), first = turnTime();
  assert(first >= before);
  while (performance.now() - first < 2);
  assert.equal(turnTime(), first);
  await new Promise((resolve) => setTimeout(resolve));
  const next = turnTime();
  assert(next - first >= 2, `${next - first} ms`);
  assert(next <= performance.now());
});
