import { equal } from "node:assert/strict";
import { Flood } from "./flood.ts";
import { Flag, FrameType } from "./frames.ts";

/** A count, and the clock it goes by. */
function open() {
  const clock = { now: 0 };
  return { clock, flood: new Flood(() => clock.now) };
}

/** Whether none of so many frames was one too many. */
function passes(flood: Flood, count: number, type: number, flags: number, size: number): boolean {
  let isFlooded = false;
  for (let frame = 0; frame < count; frame++) isFlooded ||= flood.isFloodedBy(type, flags, size);
  return !isFlooded;
}

Deno.test("Flood: a thousand costly frames may come in five seconds, and again in the next", () => {
  for (const [type, size] of [[FrameType.rstStream, 4], [FrameType.data, 0]]) {
    const { clock, flood } = open();
    equal(passes(flood, 999, type, 0, size), true);
    clock.now = 5001;
    equal(passes(flood, 1000, type, 0, size), true);
    equal(passes(flood, 1, type, 0, size), false);
  }
});

Deno.test("Flood: what a busy visitor sends is none", () => {
  const { flood } = open();
  equal(passes(flood, 50_000, FrameType.headers, Flag.endStream, 10), true);
  equal(passes(flood, 50_000, FrameType.data, 0, 100), true);
  equal(passes(flood, 50_000, FrameType.data, Flag.endStream, 0), true);
  equal(passes(flood, 50_000, FrameType.windowUpdate, 0, 4), true);
});

Deno.test("Flood: answers to no PING are worth fifty", () => {
  const { flood } = open();
  equal(passes(flood, 20, FrameType.ping, Flag.ack, 8), true);
  equal(passes(flood, 1, FrameType.ping, Flag.ack, 8), false);
});

Deno.test("Flood: faults count with frames", () => {
  const { flood } = open();
  for (let fault = 0; fault < 500; fault++) equal(flood.isOneTooMany(), false);
  equal(passes(flood, 500, FrameType.settings, 0, 0), true);
  equal(flood.isOneTooMany(), true);
});

Deno.test("Flood: each SETTINGS entry counts, so that one frame of thousands is too much", () => {
  const { flood } = open();
  equal(passes(flood, 10, FrameType.settings, 0, 36), true);
  equal(passes(flood, 1, FrameType.settings, 0, 15_600), false);
});
