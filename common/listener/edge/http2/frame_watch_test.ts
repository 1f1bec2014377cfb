import { deepEqual, equal, ok } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { ACK, END_HEADERS, END_STREAM, frame, hello, PREFACE, Type } from "./_test_client.ts";
import { FrameWatch } from "./frame_watch.ts";

/** Flags of HEADERS. */
const PADDED = 0x8, PRIORITY = 0x20;
/** `:method: GET` in HPACK's static table. */
const GET = 0x82;
const NAME = "GET-WITH-BODY";

/** A watch that has seen a visitor's first bytes, and the clock it goes by. */
function open() {
  const clock = { now: 0 };
  const watch = new FrameWatch(NAME, () => clock.now);
  equal(passes(watch, hello()), true);
  return { clock, watch };
}

const times = (count: number, bytes: Buffer) => Buffer.concat(Array.from({ length: count }, () => bytes));

/** Whether the watch lets bytes pass, which are then what they were. */
function passes(watch: FrameWatch, bytes: Buffer): boolean {
  const passed = watch.push(bytes);
  if (passed !== null) deepEqual(Buffer.from(passed), bytes);
  return passed !== null;
}

Deno.test("FrameWatch: bytes that are no preface are refused at the first that differs", () => {
  equal(passes(new FrameWatch(NAME), Buffer.from("PRI")), true);
  equal(passes(new FrameWatch(NAME), Buffer.from("GET / HTTP/1.1")), false);
  equal(passes(new FrameWatch(NAME), Buffer.from(`${PREFACE.slice(0, -1)}x`)), false);
});

/** What comes through of bytes in pieces of `size`. */
function carry(watch: FrameWatch, bytes: Buffer, size: number): Buffer {
  const passed: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    const piece = watch.push(bytes.subarray(at, at + size));
    ok(piece !== null);
    // The memory that was read into is used again.
    passed.push(Uint8Array.from(piece));
  }
  return Buffer.concat(passed);
}

const SIZES = [1, 2, 7, 9, 10, 1000, 1_000_000];

Deno.test("FrameWatch: frames are told apart wherever the bytes are split", () => {
  const opened = times(3, frame(Type.headers, 0, 0x01020304, Buffer.alloc(20)));
  // A frame's head in a payload is none.
  const nested = frame(Type.data, 0, 1, times(5000, frame(Type.headers, 0, 9, Buffer.of(GET, 0x87))));
  const both = Buffer.concat([opened, nested]);
  for (const size of SIZES) {
    const { watch } = open();
    deepEqual(carry(watch, both, size), both);
    equal(watch.lastStream, 0x01020304);
  }
});

Deno.test("FrameWatch: a GET with a body gets its other name, whatever stands before, and nothing else does", () => {
  const rest = Buffer.from([0x87, 0x84, 0x41, 0x01, 0x61]);
  const name = Buffer.concat([Buffer.of(2, NAME.length), Buffer.from(NAME)]);
  const starts: [flags: number, before: number[]][] = [
    [END_HEADERS, []],
    [0, []],
    [PADDED, [0]],
    [PRIORITY, [0x80, 0, 0, GET, 255]],
    [PADDED | PRIORITY, [GET, 0, 0, 0, 0, 1]],
    [0, [0x20, 0x3e]],
    [PADDED | PRIORITY, [0, 0, 0, 0, 0, 1, 0x3f, 0xff, 0xff, 0xff, 0x7f, 0x3f, 0x80, 0x80, 0x80, 0x01]],
    [0, [0x20, 0x20, 0x20]],
    // Other fields: in a table, far back in it, of a known name, of a name of their own, and a long one.
    [0, [0x87, 0xff, 0x80, 0x01]],
    [0, [0x41, 2, GET, GET, 0x01, 1, GET, 0x11, 0]],
    [0, [0x40, 1, GET, 0x82, GET, GET, 0x00, 1, 0x61, 0, 0x10, 0, 0]],
    [0, [0x0f, 0x01, 1, GET, 0x7f, 0x80, 0x01, 1, GET]],
    [PADDED, [0, 0x41, 0x7f, 0x81, 0x06, ...new Array(896).fill(GET)]],
  ];
  const sent: Buffer[] = [], expected: Buffer[] = [];
  for (const [flags, before] of starts) {
    sent.push(frame(Type.headers, flags, 5, Buffer.concat([Buffer.from(before), Buffer.of(GET), rest])));
    expected.push(frame(Type.headers, flags, 5, Buffer.concat([Buffer.from(before), name, rest])));
  }
  const untouched = [
    frame(Type.headers, END_STREAM, 7, Buffer.of(GET, ...rest)),
    frame(Type.headers, 0, 7, Buffer.of(0x83, GET)),
    frame(Type.headers, 0, 7, Buffer.of(0x42, 1, GET)),
    frame(Type.headers, 0, 7, Buffer.of(0x41, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, GET)),
    frame(Type.headers, 0, 7, Buffer.of(0x41, 9, GET)),
    // It is looked for no further than this.
    frame(Type.headers, 0, 7, Buffer.of(0x41, 0x7f, 0x85, 0x07, ...new Array(1029).fill(GET))),
    frame(Type.headers, PADDED, 7, Buffer.of(GET)),
    frame(Type.headers, PRIORITY, 7, Buffer.of(0, 0, 0, 0)),
    frame(Type.headers, 0, 7, Buffer.of(0x3f, 0xff)),
    frame(Type.headers, 0, 7, Buffer.of(0x3f)),
    frame(Type.headers, 0, 7),
    frame(Type.continuation, 0, 7, Buffer.of(GET)),
    frame(Type.data, 0, 7, Buffer.of(GET)),
    // There is no room for a longer name.
    frame(Type.headers, 0, 7, Buffer.alloc(16_384 - NAME.length, GET)),
  ];
  const largest = frame(Type.headers, 0, 9, Buffer.concat([Buffer.of(GET), Buffer.alloc(16_384 - 2 - NAME.length)]));
  const renamed = frame(Type.headers, 0, 9, Buffer.concat([name, Buffer.alloc(16_384 - 2 - NAME.length)]));
  const all = Buffer.concat([...sent, ...untouched, largest, ...sent]);
  for (const size of SIZES) {
    deepEqual(carry(open().watch, all, size), Buffer.concat([...expected, ...untouched, renamed, ...expected]));
  }
});

Deno.test("FrameWatch: of a frame that does not come a few bytes are kept", () => {
  const { watch } = open();
  const head = frame(Type.headers, PADDED | PRIORITY, 1, Buffer.concat([Buffer.alloc(6), Buffer.alloc(10_000, 0x20)]));
  equal(carry(watch, head.subarray(0, 20), 1).length, 0);
  equal(carry(watch, head.subarray(20, 5000), 1).length, 5000);
});

Deno.test("FrameWatch: a thousand costly frames may come in five seconds, and again in the next", () => {
  for (const costly of [frame(Type.rstStream, 0, 1, Buffer.alloc(4)), frame(Type.data, 0, 1)]) {
    const { clock, watch } = open();
    // In pieces none is counted twice.
    deepEqual(carry(watch, times(999, costly), 5), times(999, costly));
    clock.now = 5001;
    equal(passes(watch, times(1000, costly)), true);
    equal(passes(watch, costly), false);
  }
});

Deno.test("FrameWatch: what a busy visitor sends is no flood", () => {
  const { watch } = open();
  equal(passes(watch, times(50_000, frame(Type.headers, END_STREAM, 1, Buffer.alloc(10)))), true);
  equal(passes(watch, times(50_000, frame(Type.data, 0, 1, Buffer.alloc(100)))), true);
  equal(passes(watch, times(50_000, frame(Type.data, END_STREAM, 1))), true);
  equal(passes(watch, times(50_000, frame(Type.windowUpdate, 0, 1, Buffer.alloc(4)))), true);
});

Deno.test("FrameWatch: answers to no PING are worth fifty", () => {
  const { watch } = open();
  const pong = frame(Type.ping, ACK, 0, Buffer.alloc(8));
  equal(passes(watch, times(19, pong)), true);
  equal(passes(watch, times(2, pong)), false);
});
