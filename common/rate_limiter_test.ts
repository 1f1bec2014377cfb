import { equal } from "node:assert/strict";
import { createRateLimiter } from "./rate_limiter.ts";

Deno.test("rate limiter gives the burst at once, then one turn for each that came back", () => {
  let now = 0;
  const limiter = createRateLimiter({ burst: 2, perMinute: 60, now: () => now });
  equal(limiter.take("a"), 0);
  equal(limiter.take("a"), 0);
  equal(limiter.take("a"), 1000);
  now = 400;
  equal(limiter.take("a"), 600);
  now = 1000;
  equal(limiter.take("a"), 0);
});

Deno.test("rate limiter keeps callers apart", () => {
  const limiter = createRateLimiter({ burst: 1, perMinute: 1, now: () => 0 });
  equal(limiter.take("a"), 0);
  equal(limiter.take("b"), 0);
  equal(limiter.take("a") > 0, true);
});

Deno.test("rate limiter forgets the longest unused key when it is full", () => {
  const limiter = createRateLimiter({ burst: 1, perMinute: 1, maxKeys: 2, now: () => 0 });
  limiter.take("a");
  limiter.take("b");
  limiter.take("c");
  equal(limiter.take("c") > 0, true);
  equal(limiter.take("a"), 0);
});

Deno.test("rate limiter tells what it would answer without taking a turn", () => {
  const limiter = createRateLimiter({ burst: 1, perMinute: 60, now: () => 0 });
  equal(limiter.peek("a"), 0);
  equal(limiter.peek("a"), 0);
  limiter.take("a");
  equal(limiter.peek("a"), 1000);
});

Deno.test("rate limiter gives turns back however the clock on the wall is set", () => {
  const { now } = Date;
  try {
    const limiter = createRateLimiter({ burst: 1, perMinute: 60 });
    limiter.take("a");
    Date.now = () => now() - 24 * 60 * 60 * 1000;
    equal(limiter.peek("a") <= 1000, true);
  } finally {
    Date.now = now;
  }
});
