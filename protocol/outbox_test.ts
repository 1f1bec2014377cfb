import assert from "node:assert/strict";
import { FrameType } from "./frames.ts";
import { readU32 } from "./outbox.ts";
import { FRAME_HEAD } from "./limits.ts";
import { turn } from "./_link.ts";
import { HEADROOM, Outbox, SEND_NOW } from "./outbox.ts";
import type { Transport } from "./types.ts";

/** A transport that keeps what it was given, and says so later when `slow`. */
function createTransport(slow: boolean) {
  const sent: { buffer: Uint8Array<ArrayBuffer>; bytes: Uint8Array; start: number }[] = [];
  const resolvers: (() => void)[] = [];
  const transport: Transport = {
    send(buffer, start, end) {
      sent.push({ buffer, bytes: buffer.slice(start, end), start });
      if (slow) return new Promise<void>((resolve) => resolvers.push(resolve));
    },
  };
  return { transport, sent, taken: () => resolvers.shift()!() };
}

function put(outbox: Outbox, size: number, stream = 1): void {
  outbox.reserve(size);
  outbox.buffer.fill(stream, outbox.used + FRAME_HEAD, outbox.used + FRAME_HEAD + size);
  outbox.commit(size, FrameType.data, 0, stream);
}

/** The stream of every frame in a message, whose payload must be that number over and over. */
function readStreams(message: Uint8Array): number[] {
  const streams: number[] = [];
  for (let at = 0; at < message.length;) {
    const length = readU32(message, at), stream = readU32(message, at + 6);
    assert(message.subarray(at + FRAME_HEAD, at + FRAME_HEAD + length).every((byte) => byte === stream));
    streams.push(stream);
    at += FRAME_HEAD + length;
  }
  return streams;
}

Deno.test("Outbox sends the frames of one turn as one message, in order, with free bytes before it", async () => {
  const { transport, sent } = createTransport(false);
  const outbox = new Outbox(transport);
  for (const stream of [1, 2, 3]) put(outbox, 10, stream);
  assert.equal(sent.length, 0);
  await turn();
  assert.deepEqual(sent.map(({ bytes, start }) => [readStreams(bytes), start]), [[[1, 2, 3], HEADROOM]]);
  assert.equal(HEADROOM % 4, 0);
  await turn();
  assert.equal(sent.length, 1);
});

Deno.test("Outbox sends at once when a message has grown large", () => {
  const { transport, sent } = createTransport(false);
  const outbox = new Outbox(transport);
  put(outbox, SEND_NOW);
  assert.equal(sent.length, 1);
});

Deno.test("Outbox sends at once when a message has many frames, and what comes behind it at the end of the turn", async () => {
  const { transport, sent, taken } = createTransport(true);
  const outbox = new Outbox(transport);
  const streams = Array.from({ length: 64 }, (_, index) => index + 1);
  for (const stream of streams.slice(0, 63)) put(outbox, 10, stream);
  assert.equal(sent.length, 0);
  put(outbox, 10, 64);
  assert.deepEqual(sent.map(({ bytes }) => readStreams(bytes)), [streams]);
  put(outbox, 10, 65);
  taken();
  await Promise.resolve();
  put(outbox, 10, 66);
  assert.equal(sent.length, 1);
  await turn();
  assert.deepEqual(readStreams(sent[1].bytes), [65, 66]);
});

Deno.test("Outbox sends what waits before a frame that does not fit behind it", () => {
  const { transport, sent } = createTransport(false);
  const outbox = new Outbox(transport);
  put(outbox, 100_000, 1);
  put(outbox, 130_000, 2);
  outbox.flush();
  assert.deepEqual(sent.map(({ bytes }) => readStreams(bytes)), [[1], [2]]);
});

Deno.test("Outbox gathers in a growing buffer while a message is under way, then sends that", async () => {
  const { transport, sent, taken } = createTransport(true);
  const outbox = new Outbox(transport);
  put(outbox, SEND_NOW, 1);
  for (let stream = 2; stream < 20; stream++) put(outbox, 65_000, stream);
  await turn();
  assert.equal(sent.length, 1);
  taken();
  await turn();
  assert.deepEqual(readStreams(sent[1].bytes), Array.from({ length: 18 }, (_, index) => index + 2));
});

Deno.test("Outbox asks bodies to wait while much is waiting, and wakes them when it has left", async () => {
  const { transport, taken } = createTransport(true);
  const outbox = new Outbox(transport);
  put(outbox, SEND_NOW);
  assert.equal(outbox.full, false);
  for (let count = 0; count < 9; count++) put(outbox, 65_000);
  assert.equal(outbox.full, true);
  let woken = false;
  const waiting = outbox.whenRoom(false).then(() => woken = true);
  await turn();
  assert.equal(woken, false);
  taken();
  await waiting;
  assert.equal(outbox.full, false);
});

Deno.test("Outbox wakes those who have sent little first, and of the others a few at a time", async () => {
  const { transport, taken } = createTransport(true);
  const outbox = new Outbox(transport);
  const fill = () => {
    while (!outbox.full) put(outbox, 65_000);
  };
  put(outbox, SEND_NOW);
  fill();
  const woken: string[] = [];
  let wakings = 0, isOver = false;
  const wait = async (name: string, isEarly: boolean) => {
    do {
      await outbox.whenRoom(isEarly);
      wakings++;
    } while (outbox.full && !isOver);
    woken.push(name);
    if (!isOver) fill();
  };
  const waiting = Array.from({ length: 1000 }, (_, index) => wait(String(index), false));
  waiting.push(wait("early", true));
  for (let sent = 0; sent < 3; sent++) {
    taken();
    await turn();
  }
  assert.equal(woken[0], "early");
  assert(wakings < 30, `${wakings} were woken for ${woken.length} that had room`);
  isOver = true;
  outbox.close();
  await Promise.all(waiting);
});

Deno.test("Outbox wakes who waits longest, and no more than what the peer has taken in makes room for", async () => {
  const outbox = new Outbox(createTransport(false).transport);
  outbox.mayBeUnderWay = 100_000;
  const fill = () => {
    while (!outbox.full) put(outbox, 65_526);
  };
  fill();
  const woken: number[] = [];
  const wait = async (name: number) => {
    do await outbox.whenRoom(false); while (outbox.full);
    woken.push(name);
    fill();
  };
  const names = Array.from({ length: 12 }, (_, index) => index);
  const waiting = names.map(wait);
  for (const _ of names) {
    assert(outbox.acknowledge(65_536));
    await turn();
  }
  await Promise.all(waiting);
  assert.deepEqual(woken, names);
});

Deno.test("Outbox wakes everyone in turn when those before them have nothing to send", async () => {
  const { transport, taken } = createTransport(true);
  const outbox = new Outbox(transport);
  put(outbox, SEND_NOW);
  while (!outbox.full) put(outbox, 65_000);
  const waiting = Array.from({ length: 100 }, () => outbox.whenRoom(false));
  taken();
  await Promise.all(waiting);
});

Deno.test("Outbox.close wakes who waits, drops what waits and sends nothing after", async () => {
  const { transport, sent, taken } = createTransport(true);
  const outbox = new Outbox(transport);
  put(outbox, SEND_NOW);
  for (let count = 0; count < 9; count++) put(outbox, 65_000);
  const waiting = outbox.whenRoom(false);
  outbox.close();
  await waiting;
  await outbox.whenRoom(false);
  taken();
  put(outbox, 10);
  await turn();
  assert.equal(sent.length, 1);
});

Deno.test("Outbox never lends one buffer to two users at once, even when it is closed while it sends", async () => {
  const doomed: Outbox[] = [];
  for (let count = 0; count < 4; count++) {
    const outbox: Outbox = new Outbox({
      send() {
        // As a transport does that finds its connection broken.
        outbox.close();
        return count % 2 === 0 ? undefined : Promise.resolve();
      },
    });
    put(outbox, 10);
    doomed.push(outbox);
  }
  await turn();
  await turn();
  const busy = Array.from({ length: 20 }, () => createTransport(true));
  const outboxes = busy.map(({ transport }) => new Outbox(transport));
  outboxes.forEach((outbox) => put(outbox, 10));
  assert.equal(new Set(outboxes.map(({ buffer }) => buffer)).size, outboxes.length);
  await turn();
  assert.equal(new Set(busy.map(({ sent }) => sent[0].buffer)).size, busy.length);
  outboxes.forEach((outbox) => outbox.close());
});

Deno.test("Outbox keeps the order of frames that are written while a transport sends", () => {
  const messages: number[][] = [];
  let again = true;
  const outbox: Outbox = new Outbox({
    send(buffer, start, end) {
      if (again) {
        again = false;
        put(outbox, 5, 2);
      }
      messages.push(readStreams(buffer.subarray(start, end)));
    },
  });
  put(outbox, 5, 1);
  outbox.flush();
  outbox.flush();
  assert.deepEqual(messages, [[1], [2]]);
});

Deno.test("Outbox takes little memory for a small frame alone, and keeps it in front of larger ones", async () => {
  const { transport, sent, taken } = createTransport(true);
  const outbox = new Outbox(transport);
  put(outbox, 8, 1);
  outbox.flush();
  assert(sent[0].buffer.length <= 1024, `${sent[0].buffer.length} bytes for a heartbeat`);
  put(outbox, 8, 2);
  put(outbox, 70_000, 3);
  put(outbox, 8, 4);
  taken();
  await turn();
  assert.deepEqual(readStreams(sent[1].bytes), [2, 3, 4]);
});
