import assert from "node:assert/strict";
import fc from "fast-check";
import { type Connection, createConnectionPair } from "../connection/mod.ts";
import { join, settle, writeFrame } from "./_test_frames.ts";
import { FrameSocket } from "./frame_socket.ts";
import { FRAME_SPACE, FrameReader, Opcode } from "./mod.ts";

/** Opens an end whose owner reads strings, each after a byte with its length. */
function createEnd(masking: "bare" | "zero" | "random" = "bare") {
  const [connection, peer] = createConnectionPair();
  const reads: number[] = [];
  const spied: Connection = {
    read: (into) => (reads.push(into.buffer.byteLength), connection.read(into)),
    write: (bytes) => connection.write(bytes),
    closeWrite: () => connection.closeWrite(),
    close: () => connection.close(),
  };
  const units: number[][] = [], ends: string[] = [];
  let largest = 0;
  const socket = new FrameSocket({
    connection: spied,
    masking,
    peer: "the other",
    onPayload(bytes, start, end) {
      largest = Math.max(largest, end - start);
      let at = start;
      for (; at < end && at + 1 + bytes[at] <= end; at += 1 + bytes[at]) {
        units.push([...bytes.subarray(at + 1, at + 1 + bytes[at])]);
      }
      return at;
    },
    onEnd: (reason) => ends.push(reason),
    onDefect: (error) => ends.push(`defect ${error}`),
  });
  return { socket, peer, units, ends, reads, largest: () => largest };
}

const unit = fc.uint8Array({ maxLength: 255 });

for (const masking of ["bare", "random", "zero"] as const) {
  const from = masking === "bare" ? "random" : "bare";
  Deno.test(`FrameSocket passes one byte stream however messages are cut and read, mask ${from}`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(unit, { maxLength: 40 }),
        fc.array(fc.nat(400), { minLength: 1, maxLength: 40 }),
        fc.array(fc.nat(5000), { minLength: 1, maxLength: 10 }),
        async (units, fragments, writes) => {
          const run = join(units.map((bytes) => Uint8Array.of(bytes.length, ...bytes)));
          const frames: Uint8Array[] = [];
          let at = 0, inMessage = false;
          for (let index = 0; at < run.length || inMessage; index++) {
            const size = fragments[index % fragments.length], fin = index % 3 === 0;
            const part = run.subarray(at, at + (index < 1000 ? size : run.length));
            frames.push(writeFrame(inMessage ? Opcode.continuation : Opcode.binary, part, fin, from));
            if (index % 5 === 0) frames.push(writeFrame(Opcode.pong, new Uint8Array(3), true, from));
            at += part.length;
            inMessage = !fin;
          }
          const { socket, peer, units: seen, ends } = createEnd(masking);
          socket.start();
          const bytes = join(frames);
          for (let from = 0, index = 0; from < bytes.length; index++) {
            const size = 1 + writes[index % writes.length];
            await peer.write(bytes.subarray(from, from + size));
            from += size;
          }
          await settle();
          assert.deepEqual([seen, ends], [units.map((bytes) => [...bytes]), []]);
          peer.close();
        },
      ),
      { numRuns: 40 },
    );
  });
}

Deno.test("FrameSocket keeps only the unprocessed bytes of an endless message", async () => {
  const { socket, peer, reads, units, largest } = createEnd();
  socket.start();
  const part = new Uint8Array(235 * 256).fill(255);
  await peer.write(writeFrame(Opcode.binary, Uint8Array.of(0), false, "zero"));
  for (let count = 0; count < 100; count++) await peer.write(writeFrame(Opcode.continuation, part, false, "zero"));
  await settle();
  assert.equal(units.length, 100 * 235 + 1);
  assert(Math.max(...reads) <= 256 * 1024 && largest() <= 256 * 1024);
  peer.close();
});

Deno.test("FrameSocket has a small buffer while idle, a large one in bulk, and a small one again", async () => {
  const { socket, peer, reads } = createEnd();
  socket.start();
  assert.deepEqual(reads, [2048]);
  const ping = writeFrame(Opcode.binary, Uint8Array.of(2, 0, 0), true, "zero");
  for (let count = 0; count < 5; count++) await peer.write(ping);
  assert(reads.every((size) => size === 2048));
  await peer.write(writeFrame(Opcode.binary, new Uint8Array(2_000_000), true, "zero"));
  await settle();
  assert.equal(reads.at(-1), 256 * 1024);
  for (let count = 0; count < 5; count++) await peer.write(ping);
  await settle();
  assert.equal(reads.at(-1), 2048);
  peer.close();
});

/** Collects the messages and control frames that an end sends. */
async function readSent(peer: Connection, count: number): Promise<string[]> {
  const seen: string[] = [];
  const reader = new FrameReader({
    masked: false,
    listener: {
      onData: (bytes, start, end) => seen.push(`message ${bytes.subarray(start, end)}`),
      onControl: (opcode, payload) => seen.push(`${opcode} ${payload}`),
    },
  });
  const memory = new Uint8Array(1 << 20);
  for (let have = 0, at = 0; seen.length < count;) {
    const size = await peer.read(memory.subarray(have));
    if (size === null) break;
    have += size;
    at = reader.push(memory, at, have);
  }
  return seen;
}

Deno.test("FrameSocket responds to pings between messages, and at most one pong waits", async () => {
  const { socket, peer } = createEnd();
  socket.start();
  const buffer = new Uint8Array(FRAME_SPACE + 1).fill(7);
  const sent = socket.send(buffer, FRAME_SPACE, FRAME_SPACE + 1);
  for (let count = 0; count < 1000; count++) {
    await peer.write(writeFrame(Opcode.ping, Uint8Array.of(count & 255), true, "zero"));
  }
  await settle();
  assert.deepEqual(await readSent(peer, 2), ["message 7", `${Opcode.pong} ${999 & 255}`]);
  await sent;
  peer.close();
});

for (
  const [name, frame] of [
    ["pings", writeFrame(Opcode.ping, new Uint8Array(0), true, "random")],
    ["empty messages", writeFrame(Opcode.binary, new Uint8Array(0), true, "random")],
  ] as const
) {
  Deno.test(`FrameSocket ends at a flood of ${name}`, async () => {
    const { socket, peer, ends } = createEnd();
    socket.start();
    await assert.rejects(peer.write(join(Array<Uint8Array>(50_000).fill(frame))), /closed/);
    await settle();
    assert.deepEqual(ends, ["the other's framing is invalid: too many frames without payload"]);
  });
}

Deno.test("FrameSocket.send waits for the pong that is being written", async () => {
  const { socket, peer } = createEnd();
  socket.start();
  await peer.write(writeFrame(Opcode.ping, Uint8Array.of(1), true, "zero"));
  await settle();
  const sent = socket.send(new Uint8Array(FRAME_SPACE + 1).fill(7), FRAME_SPACE, FRAME_SPACE + 1);
  assert.deepEqual(await readSent(peer, 2), [`${Opcode.pong} 1`, "message 7"]);
  await sent;
  peer.close();
});

Deno.test("FrameSocket.close finishes the current write, sends a close frame, and passes no more payload", async () => {
  const { socket, peer, units, ends } = createEnd();
  socket.start();
  void socket.send(new Uint8Array(FRAME_SPACE + 1).fill(7), FRAME_SPACE, FRAME_SPACE + 1);
  socket.close();
  const late = peer.write(writeFrame(Opcode.binary, Uint8Array.of(1, 1), true, "zero"));
  assert.deepEqual(await readSent(peer, 3), ["message 7", `${Opcode.close} 3,232`]);
  await late;
  assert.deepEqual([units, ends], [[], []]);
  peer.close();
});

const ends: [name: string, bytes: Uint8Array, reason: RegExp][] = [
  ["a close frame", writeFrame(Opcode.close, new Uint8Array(0), true, "zero"), /the other closed the connection/],
  ["a text message", writeFrame(Opcode.text, Uint8Array.of(65), true, "zero"), /framing is invalid/],
  ["a bare frame", writeFrame(Opcode.binary, Uint8Array.of(0)), /framing is invalid/],
];

for (const [name, bytes, reason] of ends) {
  Deno.test(`FrameSocket ends at ${name}, once, and closes the connection`, async () => {
    const { socket, peer, ends } = createEnd();
    socket.start();
    await peer.write(join([bytes, bytes]));
    assert.equal(await peer.read(new Uint8Array(1)), null);
    assert.equal(ends.length, 1);
    assert.match(ends[0], reason);
  });
}

Deno.test("FrameSocket reads the bytes that followed the handshake", async () => {
  const [connection, peer] = createConnectionPair();
  const seen: number[] = [];
  const socket = new FrameSocket({
    connection,
    masking: "bare",
    rest: writeFrame(Opcode.binary, Uint8Array.of(1, 2, 3), true, "random"),
    peer: "the other",
    onPayload: (bytes, start, end) => (seen.push(...bytes.subarray(start, end)), end),
    onEnd() {},
    onDefect: (error) => assert.fail(String(error)),
  });
  socket.start();
  assert.deepEqual(seen, [1, 2, 3]);
  peer.close();
  await settle();
});
