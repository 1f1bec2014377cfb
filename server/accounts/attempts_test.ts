import { equal, ok, throws } from "node:assert/strict";
import { Attempts } from "./attempts.ts";

/** Returns the number of accepted attempts. */
function count(attempts: Attempts, total: number, attempt: (n: number) => [address: string, email: string]): number {
  let passed = 0;
  for (let n = 0; n < total; n++) {
    try {
      attempts.take(...attempt(n));
      passed++;
    } catch {
      // The attempt was refused, which the tests count.
    }
  }
  return passed;
}

Deno.test("one network cannot try one person, nor many people, very often", () => {
  equal(count(new Attempts(), 100, () => ["192.0.2.1", "a@example.com"]), 10);
  equal(count(new Attempts(), 100, (n) => ["192.0.2.1", `user${n}@example.com`]), 30);
  // An IPv6 network counts as one, whichever address the client uses.
  equal(count(new Attempts(), 100, (n) => [`2001:db8::${n.toString(16)}`, `user${n}@example.com`]), 30);
});

Deno.test("many networks cannot try one person very often, nor lock them out of a place they have signed in from", () => {
  const attempts = new Attempts();
  attempts.take("203.0.113.7", "a@example.com");
  attempts.succeed("203.0.113.7", "a@example.com");
  const passed = count(attempts, 1000, (n) => [`198.51.${n >> 8}.${n & 255}`, "a@example.com"]);
  ok(passed < 50, String(passed));
  throws(() => attempts.take("192.0.2.1", "a@example.com"), { status: 429, code: "too_many_attempts" });
  attempts.take("203.0.113.7", "a@example.com");
  attempts.take("192.0.2.1", "b@example.com");
});

Deno.test("what nobody can tell whom it is about is counted by its network alone", () => {
  const attempts = new Attempts();
  equal(count(attempts, 30, (n) => [`192.0.2.${n}`, "x@example.com"]), 30);
  for (let n = 0; n < 30; n++) attempts.take("203.0.113.1", null);
  throws(() => attempts.take("203.0.113.1", null), { status: 429 });
  attempts.take("203.0.113.2", null);
});
