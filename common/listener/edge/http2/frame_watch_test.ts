import { equal } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { ACK, END_STREAM, frame, hello, PREFACE, Type } from "./_test_client.ts";
import { FrameWatch } from "./frame_watch.ts";

/** A watch that has seen a visitor's first bytes, and the clock it goes by. */
function open() {
  const clock = { now: 0 };
  const watch = new FrameWatch(() => clock.now);
  equal(watch.push(hello()), true);
  return { clock, watch };
}

const times = (count: number, bytes: Buffer) => Buffer.concat(Array.from({ length: count }, () => bytes));

Deno.test("FrameWatch: bytes that are no preface are refused at the first that differs", () => {
  equal(new FrameWatch().push(Buffer.from("PRI")), true);
  equal(new FrameWatch().push(Buffer.from("GET / HTTP/1.1")), false);
  equal(new FrameWatch().push(Buffer.from(`${PREFACE.slice(0, -1)}x`)), false);
});

Deno.test("FrameWatch: frames are told apart wherever the bytes are split", () => {
  const opened = times(3, frame(Type.headers, 0, 0x01020304, Buffer.alloc(20)));
  for (const size of [1, 2, 7, 9, 10, 1000]) {
    const { watch } = open();
    for (let at = 0; at < opened.length; at += size) equal(watch.push(opened.subarray(at, at + size)), true);
    equal(watch.lastStream, 0x01020304);
    // A frame's head in a payload is none.
    const nested = frame(Type.data, 0, 1, times(5000, frame(Type.ping, 0, 0, Buffer.alloc(8))));
    equal(watch.push(nested), true);
  }
});

Deno.test("FrameWatch: a thousand costly frames may come in five seconds, and again in the next", () => {
  for (const costly of [frame(Type.rstStream, 0, 1, Buffer.alloc(4)), frame(Type.data, 0, 1)]) {
    const { clock, watch } = open();
    equal(watch.push(times(999, costly)), true);
    clock.now = 5001;
    equal(watch.push(times(1000, costly)), true);
    equal(watch.push(costly), false);
  }
});

Deno.test("FrameWatch: what a busy visitor sends is no flood", () => {
  const { watch } = open();
  equal(watch.push(times(50_000, frame(Type.headers, END_STREAM, 1, Buffer.alloc(10)))), true);
  equal(watch.push(times(50_000, frame(Type.data, 0, 1, Buffer.alloc(100)))), true);
  equal(watch.push(times(50_000, frame(Type.data, END_STREAM, 1))), true);
  equal(watch.push(times(50_000, frame(Type.windowUpdate, 0, 1, Buffer.alloc(4)))), true);
});

Deno.test("FrameWatch: answers to no PING are worth fifty", () => {
  const { watch } = open();
  const pong = frame(Type.ping, ACK, 0, Buffer.alloc(8));
  equal(watch.push(times(19, pong)), true);
  equal(watch.push(times(2, pong)), false);
});
