/** HTTP/2 sessions over a connection in memory. */
import { deepEqual, equal, ok } from "node:assert/strict";
import fc from "fast-check";
import { Buffer } from "node:buffer";
import { createConnectionPair } from "../../../connection/mod.ts";
import { silentLogger } from "../../../../common/log.ts";
import { yieldToEventLoop } from "../../../../common/event_loop.ts";
import { DEFAULT_LIMITS } from "../../limits.ts";
import type { Exchange, ExchangeHandler } from "../../types.ts";
import { block, END_HEADERS, END_STREAM, frame, headers, hello, request, Type } from "./_test_client.ts";
import { Http2Driver } from "./connection.ts";

/** Opens a session whose client is the test. */
function open(handler: ExchangeHandler) {
  const [visitor, connection] = createConnectionPair();
  const limits = { ...DEFAULT_LIMITS };
  const session = new Http2Driver(
    connection,
    "192.0.2.1",
    { handler, limits, traffic: null, log: silentLogger },
    () => {},
  );
  void session.run();
  return { visitor, session };
}

/** Reads until the session closes its direction. */
async function readAll(visitor: ReturnType<typeof open>["visitor"]): Promise<Buffer> {
  const into = new Uint8Array(65_536), pieces: Buffer[] = [];
  for (let count = await visitor.read(into); count !== null; count = await visitor.read(into)) {
    pieces.push(Buffer.from(into.subarray(0, count)));
  }
  return Buffer.concat(pieces);
}

/** Reads until `isDone` accepts the bytes received so far, then closes the connection. */
async function readUntil(visitor: ReturnType<typeof open>["visitor"], isDone: (said: Buffer) => boolean) {
  const into = new Uint8Array(65_536);
  let said = Buffer.alloc(0);
  while (!isDone(said)) {
    const count = await visitor.read(into);
    ok(count !== null, "the session ended early");
    said = Buffer.concat([said, into.subarray(0, count)]);
  }
  visitor.close();
  return said;
}

/** Returns the GOAWAY error code in received bytes, or null. */
function findGoAway(said: Buffer): number | null {
  for (let at = 0; at + 9 <= said.length; at += 9 + said.readUIntBE(at, 3)) {
    if (said[at + 3] === Type.goAway) return said.readUInt32BE(at + 13);
  }
  return null;
}

/** Returns the payloads with one frame type on a stream. */
function payloads(said: Buffer, type: number, stream: number): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at + 9 <= said.length; at += 9 + said.readUIntBE(at, 3)) {
    if (said[at + 3] !== type || said.readUInt32BE(at + 5) !== stream) continue;
    found.push(said.subarray(at + 9, at + 9 + said.readUIntBE(at, 3)));
  }
  return found;
}

/** Returns the bytes that a session has permitted on a stream so far. */
const windowOf = (said: Buffer, stream: number) =>
  payloads(said, Type.windowUpdate, stream).reduce((sum, payload) => sum + payload.readUInt32BE(), 65_535);
const countResets = (said: Buffer) => payloads(said, Type.rstStream, 1).length;

const echo: ExchangeHandler = async (exchange: Exchange) => {
  const pieces: Uint8Array[] = [];
  for (let piece = await exchange.readBody(); piece !== null; piece = await exchange.readBody()) {
    pieces.push(piece.slice());
  }
  return new Response(Buffer.concat(pieces));
};

const someFrame = fc.record({
  type: fc.oneof(fc.integer({ min: 0, max: 10 }), fc.constantFrom<number>(Type.headers, Type.data, Type.rstStream)),
  flags: fc.nat(255),
  stream: fc.oneof(fc.nat(9), fc.constantFrom(0, 1, 3, 5, 2 ** 31 - 1)),
  payload: fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc.constant(new Uint8Array(block(request("POST", "/echo")))),
    fc.constant(new Uint8Array(block(request("POST", "/echo", ["content-length", "5"])))),
    fc.constantFrom(new Uint8Array(4), new Uint8Array(5), new Uint8Array(8), new Uint8Array(5000)),
  ),
});

Deno.test("any frames, cut anywhere: a session ends with its connection, and its exchanges end with it", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(someFrame, { maxLength: 30 }),
      fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 5 }),
      async (frames, cuts) => {
        let running = 0;
        const { visitor, session } = open(async (exchange) => {
          running++;
          try {
            return await echo(exchange);
          } finally {
            running--;
          }
        });
        const reading = readAll(visitor).catch(() => null);
        const bytes = Buffer.concat([hello(), ...frames.map((f) => frame(f.type, f.flags, f.stream, f.payload))]);
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const end = at + cuts[turn % cuts.length];
          await visitor.write(bytes.subarray(at, end)).catch(() => {});
          at = end;
        }
        visitor.close();
        await Promise.all([session.ended, reading]);
        await new Promise((resolve) => setTimeout(resolve));
        deepEqual([running, session.isBusy], [0, false]);
      },
    ),
    { numRuns: 300 },
  );
});

Deno.test("a client whose stream errors cause a reset for each opened stream gets GOAWAY", async () => {
  let begun = 0, left = 0;
  const { visitor } = open((exchange) => {
    begun++;
    exchange.onLeave = () => left++;
    return null;
  });
  const reading = readAll(visitor);
  await visitor.write(hello());
  // A window increment of 0 is a stream error (CVE-2025-8671).
  for (let stream = 1; stream < 4000; stream += 2) {
    const fault = frame(Type.windowUpdate, 0, stream, new Uint8Array(4));
    await visitor.write(Buffer.concat([headers(stream, request("GET", "/hold")), fault])).catch(() => {});
  }
  equal(findGoAway(await reading), 11);
  ok(begun < 1500, `${begun} were begun`);
  equal(left, begun);
});

Deno.test("a body with one byte in each frame needs little more memory than its bytes", async () => {
  const bytes = 60_000, sent = Promise.withResolvers<void>(), gathered = Promise.withResolvers<number>();
  const { visitor } = open(async (exchange) => {
    await sent.promise;
    let pieces = 0;
    for (let piece = await exchange.readBody(); piece !== null; piece = await exchange.readBody()) pieces++;
    gathered.resolve(pieces);
    return new Response("done");
  });
  void readAll(visitor).catch(() => {});
  await visitor.write(Buffer.concat([hello(), headers(1, request("POST", "/"), false)]));
  const one = frame(Type.data, 0, 1, Buffer.of(1));
  await visitor.write(Buffer.concat([...Array(bytes).fill(one), frame(Type.data, END_STREAM, 1)]));
  sent.resolve();
  const pieces = await gathered.promise;
  ok(pieces < 100, `${pieces} pieces`);
  visitor.close();
});

Deno.test("a chunk that a handler holds is not reused, though its response is complete and the client continues", async () => {
  const size = 10_000, held: Uint8Array[] = [], read = [0, 1, 2].map(() => Promise.withResolvers<void>());
  const { visitor } = open(async (exchange) => {
    held.push(await exchange.readBody() ?? new Uint8Array(0));
    read[held.length - 1].resolve();
    return new Response("early");
  });
  void readAll(visitor).catch(() => {});
  await visitor.write(hello());
  for (const [index, { promise }] of read.entries()) {
    const stream = 2 * index + 1;
    await visitor.write(headers(stream, request("POST", "/"), false));
    await visitor.write(frame(Type.data, 0, stream, Buffer.alloc(size, 65 + index)));
    await promise;
    await visitor.write(frame(Type.data, END_STREAM, stream, Buffer.alloc(1)));
    await visitor.write(frame(Type.ping, 0, 0, Buffer.alloc(8)));
  }
  deepEqual(held.map((piece) => [piece.length, new Set(piece).size, piece[0]]), [[size, 1, 65], [size, 1, 66], [
    size,
    1,
    67,
  ]]);
  visitor.close();
});

Deno.test("a disconnect during a response is noticed, whatever waits to be sent", async () => {
  for (const taken of [0, 1, 200_000]) {
    const left = Promise.withResolvers<void>(), begun = Promise.withResolvers<void>();
    const { visitor, session } = open((exchange) => {
      exchange.onLeave = left.resolve;
      exchange.response.begin(200, Buffer.from("OK\r\n"), null, new Uint8Array(0), false);
      void exchange.response.write(new Uint8Array(1_000_000));
      begun.resolve();
      return null;
    });
    const more = frame(Type.windowUpdate, 0, 0, Buffer.of(0, 16, 0, 0));
    const ofStream = frame(Type.windowUpdate, 0, 1, Buffer.of(0, 16, 0, 0));
    void visitor.write(Buffer.concat([hello(), headers(1, request("GET", "/")), more, ofStream])).catch(() => {});
    await begun.promise;
    for (let got = 0; got < taken;) got += await visitor.read(new Uint8Array(65_536)) ?? taken;
    visitor.close();
    await Promise.all([left.promise, session.ended]);
  }
});

Deno.test("DATA for streams that ended with an error does not shrink the connection window", async () => {
  const { visitor } = open(() => null);
  const reading = readAll(visitor);
  await visitor.write(hello());
  const piece = Buffer.alloc(16_000);
  // Each announces a body with 5 bytes. Together they exceed the connection window.
  for (let stream = 1; stream < 2 * 200; stream += 2) {
    await visitor.write(Buffer.concat([
      headers(stream, request("POST", "/", ["content-length", "5"]), false),
      frame(Type.data, 0, stream, piece),
    ]));
  }
  await visitor.write(frame(Type.headers, END_HEADERS, 0));
  const said = await reading;
  // The error belongs to the last frame.
  equal(findGoAway(said), 1);
});

Deno.test("an upload that was read so far may continue for a while after its response", async () => {
  const mib = 1024 * 1024, read = 17 * mib;
  const { visitor } = open(async (exchange) => {
    for (let got = 0; got < read;) got += (await exchange.readBody())?.length ?? read;
    return new Response("enough");
  });
  let said = Buffer.alloc(0);
  const into = new Uint8Array(65_536), answered = Promise.withResolvers<void>();
  const reading = (async () => {
    for (let count = await visitor.read(into); count !== null; count = await visitor.read(into)) {
      said = Buffer.concat([said, into.subarray(0, count)]);
      if (said.includes("enough")) answered.resolve();
    }
  })().catch(() => {});
  await visitor.write(Buffer.concat([hello(), headers(1, request("POST", "/"), false)]));
  const credit = () => windowOf(said, 1);
  let sent = 0;
  const send = async (bytes: number) => {
    for (const end = sent + bytes; sent < end;) {
      const size = Math.min(16_384, end - sent);
      while (credit() < sent + size) await yieldToEventLoop();
      await visitor.write(frame(Type.data, 0, 1, Buffer.alloc(size)));
      sent += size;
    }
  };
  await send(read);
  await answered.promise;
  await send(mib);
  await visitor.write(frame(Type.data, END_STREAM, 1));
  await visitor.write(headers(3, request("GET", "/"), true));
  visitor.close();
  await reading;
  equal(countResets(said), 0);
});

Deno.test("an endless field block ends the session, and one that expands too far is a head too large", async () => {
  const { visitor } = open(echo);
  const reading = readAll(visitor);
  await visitor.write(Buffer.concat([hello(), frame(Type.headers, 0, 1, Buffer.alloc(16_000))]));
  for (let count = 0; count < 6; count++) {
    await visitor.write(frame(Type.continuation, 0, 1, Buffer.alloc(16_000))).catch(() => {});
  }
  equal(findGoAway(await reading), 11);
  const { visitor: other } = open(echo);
  // Each byte refers to a 4 KiB field: 48 MB in total.
  const field = Buffer.concat([Buffer.of(0x40, 1, 0x61, 0x7f, 0x81, 0x1e), Buffer.alloc(3968, 0x62)]);
  const bomb = Buffer.concat([block(request("GET", "/")), field, Buffer.alloc(12_000, 0xbe)]);
  const sending = other.write(Buffer.concat([hello(), frame(Type.headers, END_HEADERS | END_STREAM, 1, bomb)]));
  const into = new Uint8Array(65_536);
  for (let said = ""; !said.includes("431");) {
    const count = await other.read(into);
    ok(count !== null, "it is refused, and the session goes on");
    said += Buffer.from(into.subarray(0, count)).toString("latin1");
  }
  await sending;
  other.close();
});

/** A SETTINGS frame with INITIAL_WINDOW_SIZE entries in that order. */
function windowSettings(sizes: readonly number[]): Buffer {
  const payload = Buffer.alloc(6 * sizes.length);
  sizes.forEach((size, index) => {
    payload.writeUInt16BE(4, 6 * index);
    payload.writeUInt32BE(size, 6 * index + 2);
  });
  return frame(Type.settings, 0, 0, payload);
}

Deno.test("a SETTINGS frame with thousands of entries ends the session", async () => {
  const { visitor } = open(() => null);
  const reading = readAll(visitor);
  await visitor.write(hello());
  for (let stream = 1; stream < 400; stream += 2) await visitor.write(headers(stream, request("GET", "/hold")));
  await visitor.write(windowSettings(Array.from({ length: 2600 }, (_, index) => index % 2)));
  equal(findGoAway(await reading), 11);
});

Deno.test("the entries of a SETTINGS frame change windows once, by their sum", async () => {
  const { visitor } = open((exchange) => {
    if (exchange.path === "/hold") return null;
    exchange.response.begin(200, Buffer.from("OK\r\n"), 5, Buffer.from("hello"), true);
    return null;
  });
  const reading = readUntil(visitor, (said) => findGoAway(said) !== null || payloads(said, Type.data, 3).length > 0);
  const more = frame(Type.windowUpdate, 0, 1, Buffer.of(0, 0, 0, 1));
  // The first entry alone would exceed the largest window on the first stream.
  const entries = windowSettings([2 ** 31 - 1, 3]);
  await visitor.write(
    Buffer.concat([hello(), windowSettings([0]), headers(1, request("GET", "/hold")), more, entries]),
  );
  await visitor.write(headers(3, request("GET", "/")));
  const said = await reading;
  equal(findGoAway(said), null);
  equal(Buffer.concat(payloads(said, Type.data, 3)).toString(), "hel");
});

Deno.test("a flood of DATA frames that contain padding alone ends the session", async () => {
  const { visitor } = open(echo);
  const reading = readAll(visitor);
  await visitor.write(Buffer.concat([hello(), headers(1, request("POST", "/"), false)]));
  const padding = frame(Type.data, 0x8, 1, Buffer.of(2, 0, 0));
  for (let sent = 0; sent < 1200; sent += 100) {
    await visitor.write(Buffer.concat(Array(100).fill(padding))).catch(() => {});
  }
  visitor.close();
  equal(findGoAway(await reading.catch(() => Buffer.alloc(0))), 11);
});

Deno.test("CONNECT never reaches the handler: with a path its stream is reset, without one the status is 400", async () => {
  let handled = 0;
  const { visitor } = open(() => {
    handled++;
    return null;
  });
  const reading = readUntil(visitor, (said) => payloads(said, Type.headers, 3).length > 0);
  const plain: [string, string][] = [[":method", "CONNECT"], [":authority", "a.test:443"]];
  await visitor.write(Buffer.concat([hello(), headers(1, request("CONNECT", "/")), headers(3, plain, false)]));
  const said = await reading;
  deepEqual(payloads(said, Type.rstStream, 1).map((code) => code.readUInt32BE()), [1]);
  // The static table index for `:status: 400`.
  deepEqual(payloads(said, Type.headers, 3).map((payload) => payload[0]), [0x8c]);
  equal(handled, 0);
});

Deno.test("trailers that change a checked request do not reach the handler", async () => {
  const trailers = Promise.withResolvers<string>();
  const { visitor } = open(async (exchange) => {
    while (await exchange.readBody() !== null);
    trailers.resolve(Buffer.from(exchange.trailers).toString());
    return new Response("done");
  });
  void readAll(visitor).catch(() => {});
  const lines: [string, string][] = [["content-length", "9"], ["host", "b"], ["authorization", "x"], ["x-sum", "3"]];
  await visitor.write(Buffer.concat([hello(), headers(1, request("POST", "/"), false), headers(1, lines)]));
  equal(await trailers.promise, "x-sum: 3\r\n");
  visitor.close();
});

Deno.test("a client that expects 100 Continue gets it with the first read, and a refusal without it", async () => {
  for (const method of ["POST", "DELETE"]) {
    const { visitor } = open(async (exchange) => {
      if (exchange.path === "/refuse") return new Response("too large", { status: 413 });
      equal(Buffer.from(await exchange.readBody() ?? []).toString(), "hello");
      return new Response("done");
    });
    const head = (path: string) => request(method, path, ["expect", "100-continue"]);
    const statuses = (said: Buffer, stream: number) =>
      payloads(said, Type.headers, stream).map((payload) => payload.subarray(0, 5).toString("latin1"));
    const reading = readUntil(visitor, (said) => said.includes("done") && said.includes("too large"));
    await visitor.write(Buffer.concat([hello(), headers(1, head("/refuse"), false), headers(3, head("/"), false)]));
    await visitor.write(frame(Type.data, END_STREAM, 3, Buffer.from("hello")));
    const said = await reading;
    // Literal statuses with the name at index 8, and the static index for 200.
    deepEqual(statuses(said, 1), ["\x08\x03413"]);
    deepEqual([statuses(said, 3).length, statuses(said, 3)[0], statuses(said, 3)[1].charCodeAt(0)], [
      2,
      "\x08\x03100",
      0x88,
    ]);
  }
});
