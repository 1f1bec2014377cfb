import assert from "node:assert/strict";
import { createBackoff } from "./backoff.ts";
import { delay } from "./delay.ts";

Deno.test("createBackoff doubles up to its longest wait, in the upper half, and starts over", () => {
  const upper = createBackoff({ initialMs: 100, maxMs: 500, random: () => 1 });
  assert.deepEqual(Array.from({ length: 5 }, () => upper.next()), [100, 200, 400, 500, 500]);
  upper.reset();
  assert.equal(upper.next(), 100);
  const lower = createBackoff({ initialMs: 100, maxMs: 500, random: () => 0 });
  assert.deepEqual(Array.from({ length: 4 }, () => lower.next()), [50, 100, 200, 250]);
});

Deno.test("delay ends at once when its signal aborts, before or while it waits", async () => {
  const abort = new AbortController();
  const waiting = delay(60_000, abort.signal);
  abort.abort();
  await waiting;
  await delay(60_000, abort.signal);
  await delay(0);
});

Deno.test("delay waits for longer than a timer can", async () => {
  const abort = new AbortController();
  let isOver = false;
  const waiting = delay(2 ** 31 + 5, abort.signal).then(() => isOver = true);
  // A timer that overflows fires after a millisecond.
  await delay(20);
  assert.equal(isOver, false);
  abort.abort();
  await waiting;
});
