import { equal } from "node:assert/strict";
import { nextPause } from "./reload_timer.js";

Deno.test("a share that answers slowly is asked less often, and never less than twice a minute", () => {
  equal(nextPause(1), 700);
  equal(nextPause(1000), 5000);
  equal(nextPause(60_000), 30_000);
});
