import { equal } from "node:assert/strict";
import { Flood } from "./flood.ts";
import { Flag, FrameType } from "./frames.ts";

/** Returns whether the limit permits `count` equal frames at one time. */
function passes(flood: Flood, count: number, type: number, flags: number, size: number, now = 0): boolean {
  let isFlooded = false;
  for (let frame = 0; frame < count; frame++) isFlooded ||= flood.isFloodedBy(type, flags, size, now);
  return !isFlooded;
}

Deno.test("Flood: a thousand costly frames may come in five seconds, and again in the next", () => {
  for (const [type, size] of [[FrameType.rstStream, 4], [FrameType.data, 0]]) {
    const flood = new Flood();
    equal(passes(flood, 999, type, 0, size), true);
    equal(passes(flood, 1000, type, 0, size, 5001), true);
    equal(passes(flood, 1, type, 0, size, 5001), false);
  }
});

Deno.test("Flood: the frames of a busy client have no limit", () => {
  const flood = new Flood();
  equal(passes(flood, 50_000, FrameType.headers, Flag.endStream, 10), true);
  equal(passes(flood, 50_000, FrameType.data, 0, 100), true);
  equal(passes(flood, 50_000, FrameType.data, Flag.endStream, 0), true);
  equal(passes(flood, 50_000, FrameType.windowUpdate, 0, 4), true);
});

Deno.test("Flood: each unexpected PING response counts fifty", () => {
  const flood = new Flood();
  equal(passes(flood, 20, FrameType.ping, Flag.ack, 8), true);
  equal(passes(flood, 1, FrameType.ping, Flag.ack, 8), false);
});

Deno.test("Flood: stream errors count like frames", () => {
  const flood = new Flood();
  for (let count = 0; count < 500; count++) equal(flood.isOneTooMany(0), false);
  equal(passes(flood, 500, FrameType.settings, 0, 0), true);
  equal(flood.isOneTooMany(0), true);
});

Deno.test("Flood: each SETTINGS entry counts, so that one frame of thousands is too much", () => {
  const flood = new Flood();
  equal(passes(flood, 10, FrameType.settings, 0, 36), true);
  equal(passes(flood, 1, FrameType.settings, 0, 15_600), false);
});
