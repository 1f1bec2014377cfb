import assert from "node:assert/strict";
import fc from "fast-check";
import { join, writeFrame } from "./_test_frames.ts";
import { FrameReader } from "./frames.ts";
import { Opcode, WebSocketError } from "./frames.ts";

/** Reads bytes in chunks that end at `cuts`, and passes unread bytes again. */
function read(bytes: Uint8Array, cuts: number[], masked = false, maxMessageBytes?: number) {
  const messages: { text: boolean; bytes: number[] }[] = [], controls: unknown[] = [];
  let current: number[] = [];
  const reader = new FrameReader({
    masked,
    maxMessageBytes,
    listener: {
      onData(memory, start, end, text, last) {
        current.push(...memory.subarray(start, end));
        if (!last) return;
        messages.push({ text, bytes: current });
        current = [];
      },
      onControl: (opcode, payload) => controls.push([opcode, [...payload]]),
    },
  });
  const memory = Uint8Array.from(bytes);
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  let at = 0;
  for (const end of [...ends, bytes.length]) at = reader.push(memory, at, end);
  return { messages, controls, at };
}

const payload = fc.oneof(
  fc.uint8Array({ maxLength: 10 }),
  fc.constantFrom(125, 126, 127, 300, 65_535, 65_536).map((size) => new Uint8Array(size).fill(size)),
);
const message = fc.record({
  text: fc.boolean(),
  parts: fc.array(payload, { minLength: 1, maxLength: 3 }),
  ping: fc.option(fc.uint8Array({ maxLength: 125 })),
});

for (const masking of ["bare", "random", "zero"] as const) {
  Deno.test(`FrameReader finds the same messages and control frames wherever the bytes are cut, mask ${masking}`, () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 4 }), fc.array(fc.nat(), { maxLength: 12 }), (messages, cuts) => {
        const frames = messages.flatMap(({ text, parts, ping }) =>
          parts.flatMap((part, index) => [
            writeFrame(index > 0 ? 0 : text ? 1 : 2, part, index === parts.length - 1, masking),
            ...(ping === null ? [] : [writeFrame(Opcode.ping, ping, true, masking)]),
          ])
        );
        const seen = read(join(frames), cuts, masking !== "bare");
        assert.deepEqual(
          seen.messages,
          messages.map(({ text, parts }) => ({ text, bytes: parts.flatMap((part) => [...part]) })),
        );
        const pings = messages.flatMap(({ parts, ping }) => ping ? parts.map(() => [Opcode.ping, [...ping]]) : []);
        assert.deepEqual(seen.controls, pings);
      }),
      { numRuns: 40 },
    );
  });
}

Deno.test("FrameReader reads every frame byte by byte", () => {
  const bytes = join([
    writeFrame(1, new TextEncoder().encode("héllo")),
    writeFrame(Opcode.close, Uint8Array.of(3, 232, 65)),
    writeFrame(2, new Uint8Array(300)),
  ]);
  const cuts = Array.from(bytes, (_, at) => at);
  assert.deepEqual(read(bytes, cuts), read(bytes, []));
  assert.equal(read(bytes, []).messages.length, 2);
});

Deno.test("FrameReader passes on the received part of an endless message", () => {
  const pieces: number[] = [];
  const reader = new FrameReader({
    masked: false,
    listener: { onData: (_bytes, start, end, _text, last) => pieces.push(end - start, Number(last)), onControl() {} },
  });
  assert.equal(reader.push(writeFrame(2, new Uint8Array(100)).slice(0, 52), 0, 52), 52);
  assert.deepEqual(pieces, [50, 0]);
});

const violations: [name: string, bytes: Uint8Array, masked?: boolean][] = [
  ["a masked frame of a server", Uint8Array.of(0x82, 0x80, 0, 0, 0, 0)],
  ["a bare frame of a client", Uint8Array.of(0x82, 0), true],
  ["an extension's bit", Uint8Array.of(0xc2, 0)],
  ["an unknown opcode", Uint8Array.of(0x83, 0)],
  ["an unknown control opcode", Uint8Array.of(0x8b, 0)],
  ["a cut-up ping", Uint8Array.of(0x09, 0)],
  ["a long ping", Uint8Array.of(0x89, 126, 0, 126)],
  ["a continuation of nothing", Uint8Array.of(0x80, 0)],
  ["a message inside another", Uint8Array.of(0x02, 0, 0x82, 0)],
  ["a length beyond any number", Uint8Array.of(0x82, 127, 255, 0, 0, 0, 0, 0, 0, 0)],
];

for (const [name, bytes, masked] of violations) {
  Deno.test(`FrameReader refuses ${name}`, () => {
    assert.throws(() => read(bytes, [], masked), WebSocketError);
  });
}

Deno.test("FrameReader refuses a message beyond its limit at the head of the frame that makes it too large", () => {
  const head = Uint8Array.of(0x82, 126, 0x01, 0x00);
  assert.deepEqual(read(head, [], false, 256).messages, []);
  assert.throws(() => read(head, [], false, 255), { code: 1009 });
  const fragments = join([writeFrame(2, new Uint8Array(200), false), Uint8Array.of(0x00, 100)]);
  assert.throws(() => read(fragments, [], false, 299), { code: 1009 });
  const two = join([writeFrame(2, new Uint8Array(200)), writeFrame(2, new Uint8Array(200))]);
  assert.equal(read(two, [], false, 200).messages.length, 2);
});

Deno.test("FrameReader either reads random bytes or throws WebSocketError", () => {
  const bytes = fc.uint8Array({ maxLength: 40 });
  fc.assert(
    fc.property(fc.array(bytes, { maxLength: 5 }), fc.boolean(), (pieces, masked) => {
      try {
        read(join(pieces), pieces.map((piece) => piece.length), masked);
      } catch (error) {
        assert(error instanceof WebSocketError, String(error));
      }
    }),
    { numRuns: 3000 },
  );
});
