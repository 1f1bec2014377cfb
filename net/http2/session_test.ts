/** The rules of a session without a socket and with a clock that the tests set. */
import { deepEqual, equal, ok } from "node:assert/strict";
import fc from "fast-check";
import { Buffer } from "node:buffer";
import {
  block,
  END_HEADERS,
  END_STREAM,
  frame,
  headers,
  hello,
  request,
  Type,
} from "../listener/edge/http2/_test_client.ts";
import { ConnectionError, ErrorCode } from "./frames.ts";
import { Session, type SessionDriver } from "./session.ts";
import type { Stream } from "./stream.ts";

const LIMITS = { maxHeadBytes: 32_768, maxFields: 250, headSeconds: 15 };

/** A driver that records the effects of its session. */
class Recorder implements SessionDriver {
  readonly events: string[] = [];
  readonly streams: Stream[] = [];
  readonly session = new Session(this, LIMITS);
  now = 0;
  isAborted = false;

  openStream(stream: Stream): NonNullable<Stream["receiver"]> {
    this.streams.push(stream);
    const note = (event: string) => void this.events.push(`${event} ${stream.id}`);
    return {
      onData: (bytes, size, end) => {
        note(`data ${bytes.length}${end ? " end" : ""}`);
        this.session.streams.consume(stream, size, 0, this.now);
      },
      onTrailers: () => note("trailers"),
      onSent: () => note("sent"),
      onClosed: () => note("closed"),
      onTick: () => note("tick"),
    };
  }

  startStream(): void {
    this.events.push("start");
  }

  onChange(): void {}

  onReady(): void {}

  onFinish(): void {
    this.events.push("finish");
  }

  abort(): void {
    this.isAborted = true;
    this.session.close();
  }

  receive(...parts: Uint8Array[]): void {
    const bytes = Buffer.concat(parts);
    let at = this.session.receive(bytes, 0, bytes.length, this.now);
    while (this.session.isPaused) at = this.session.receive(bytes, at, bytes.length, this.now);
  }

  /** Returns the types of the frames that the session sends now. */
  takeTypes(): number[] {
    const types: number[] = [];
    for (let bytes = this.session.output.take(); bytes !== null; bytes = this.session.output.take()) {
      for (let at = 0; at < bytes.length; at += 9 + (bytes[at] << 16 | bytes[at + 1] << 8 | bytes[at + 2])) {
        types.push(bytes[at + 3]);
      }
      this.session.output.wrote();
    }
    return types;
  }
}

function open(): Recorder {
  const driver = new Recorder();
  driver.session.start();
  driver.receive(hello());
  driver.takeTypes();
  return driver;
}

const respond = ({ session, streams }: Recorder, index = 0) =>
  session.streams.sendBlock(streams[index], Uint8Array.of(0x88), true);

Deno.test("Session: a request runs from its HEADERS to the end of both directions", () => {
  const driver = open();
  driver.receive(headers(1, request("POST", "/"), false), frame(Type.data, 0, 1, Buffer.from("abc")));
  equal(driver.streams[0].state, "open");
  respond(driver);
  equal(driver.streams[0].state, "halfClosedLocal");
  driver.receive(frame(Type.data, END_STREAM, 1, Buffer.from("de")));
  equal(driver.streams[0].state, "closed");
  deepEqual(driver.events, ["data 3 1", "start", "sent 1", "data 2 end 1", "closed 1"]);
  equal(driver.session.streams.size, 0);
});

Deno.test("Session: retire ends an idle session at once and a busy one after its last stream", () => {
  const idle = open();
  idle.session.retire();
  deepEqual([idle.events, idle.takeTypes()], [["finish"], [Type.goAway]]);
  const busy = open();
  busy.receive(headers(1, request("GET", "/")));
  busy.session.retire();
  busy.receive(headers(3, request("GET", "/")));
  deepEqual([busy.events, busy.takeTypes()], [["start"], [Type.goAway, Type.rstStream]]);
  respond(busy);
  deepEqual(busy.events, ["start", "sent 1", "closed 1", "finish"]);
});

Deno.test("Session: an error ends all streams, sends GOAWAY and drops a bounded number of bytes", () => {
  const driver = open();
  driver.receive(headers(1, request("GET", "/")));
  driver.session.fail(new ConnectionError(ErrorCode.internal, "a defect"));
  deepEqual([driver.events, driver.takeTypes()], [["start", "closed 1", "finish"], [Type.goAway]]);
  driver.receive(headers(3, request("GET", "/")));
  deepEqual([driver.streams.length, driver.isAborted], [1, false]);
  driver.receive(new Uint8Array(1024 * 1024));
  equal(driver.isAborted, true);
});

Deno.test("Session: each wait for the client has an end in seconds", () => {
  const waits: [name: string, seconds: number, prepare: (driver: Recorder) => void][] = [
    ["the preface", 15, () => {}],
    ["the first SETTINGS", 15, (driver) => driver.receive(hello().subarray(0, 24))],
    ["the rest of a field block", 15, (driver) => driver.receive(hello(), frame(Type.headers, 0, 1))],
    ["the client's end after GOAWAY", 2, (driver) => {
      driver.receive(hello());
      driver.session.retire();
    }],
  ];
  for (const [name, seconds, prepare] of waits) {
    const driver = new Recorder();
    driver.session.start();
    prepare(driver);
    for (let second = 0; second < seconds; second++) driver.session.tick();
    equal(driver.isAborted, false, name);
    driver.session.tick();
    equal(driver.isAborted, true, name);
  }
});

Deno.test("Session: the flood limit follows the clock of the driver", () => {
  const driver = open();
  const pings = Buffer.concat(Array(900).fill(frame(Type.ping, 0, 0, Buffer.alloc(8))));
  driver.now = 10_000;
  driver.receive(pings);
  driver.now = 15_001;
  driver.receive(pings);
  deepEqual(driver.events, []);
  driver.receive(pings);
  deepEqual(driver.events, ["finish"]);
});

const someFrame = fc.record({
  type: fc.oneof(fc.integer({ min: 0, max: 10 }), fc.constantFrom<number>(Type.headers, Type.data, Type.rstStream)),
  flags: fc.oneof(fc.nat(255), fc.constantFrom(0, END_STREAM, END_HEADERS, END_STREAM | END_HEADERS)),
  stream: fc.constantFrom(0, 1, 2, 3, 5, 7, 2 ** 31 - 1),
  payload: fc.oneof(
    fc.uint8Array({ maxLength: 20 }),
    fc.constant(new Uint8Array(block(request("POST", "/")))),
    fc.constantFrom(new Uint8Array(4), Uint8Array.of(0, 0, 0, 9), new Uint8Array(8), new Uint8Array(5000)),
  ),
});
const someCommand = fc.oneof(
  { weight: 8, arbitrary: someFrame.map(({ type, flags, stream, payload }) => frame(type, flags, stream, payload)) },
  fc.constantFrom("retire", "tick", "respond", "reset", "take", "close"),
);

Deno.test("Session: no sequence of frames and commands leaves the tables, and streams end exactly once", () => {
  fc.assert(
    fc.property(fc.array(someCommand, { maxLength: 60 }), (commands) => {
      const driver = open();
      for (const command of commands) {
        if (typeof command !== "string") driver.receive(command);
        else if (command === "take") driver.takeTypes();
        else if (command === "respond") driver.streams.forEach((_, index) => respond(driver, index));
        else if (command === "reset") driver.streams.forEach((s) => driver.session.streams.reset(s, ErrorCode.cancel));
        else driver.session[command]();
      }
      driver.session.close();
      equal(driver.session.streams.size, 0);
      equal(driver.session.output.take(), null);
      for (const { id, state } of driver.streams) {
        ok(state === "closed" || state === "reset", state);
        equal(driver.events.filter((event) => event === `closed ${id}`).length, 1);
        ok(driver.events.filter((event) => event === `sent ${id}`).length <= 1);
      }
      ok(driver.events.filter((event) => event === "finish").length <= 1);
    }),
    { numRuns: 1000 },
  );
});
