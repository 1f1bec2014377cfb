import { equal, rejects } from "node:assert/strict";
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { TimeSlice } from "./time_slice.ts";

Deno.test("TimeSlice is over after some milliseconds, lets others work, and begins again", async () => {
  let now = 1000;
  const slice = new TimeSlice(() => now);
  equal(slice.isOver, false);
  now += 20;
  equal(slice.isOver, true);
  let hasOther = false;
  const other = yieldToEventLoop().then(() => hasOther = true);
  await slice.next();
  equal(hasOther, true);
  equal(slice.isOver, false);
  await other;
});

Deno.test("TimeSlice ends the work that nobody wants any more", async () => {
  const abort = new AbortController();
  const next = new TimeSlice().next(abort.signal);
  abort.abort(new Error("left"));
  await rejects(next, /left/);
});
