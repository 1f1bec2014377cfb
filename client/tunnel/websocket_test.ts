import assert from "node:assert/strict";
import fc from "fast-check";
import {
  acceptFor,
  createClosePayload,
  createFrame,
  frameInPlace,
  FrameReader,
  MAX_FRAME_HEAD,
  Opcode,
  WebSocketError,
} from "./websocket.ts";

/** A client's frame taken apart and unmasked, as a server does it (RFC 6455, section 5.3). */
function unmask(frame: Uint8Array): { first: number; key: number; payload: Uint8Array } {
  assert.notEqual(frame[1] & 0x80, 0, "a client's frames have the mask bit");
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
  const short = frame[1] & 0x7f, at = short < 126 ? 2 : short === 126 ? 4 : 10;
  const size = short < 126 ? short : short === 126 ? view.getUint16(2) : Number(view.getBigUint64(2));
  const key = frame.subarray(at, at + 4);
  assert.equal(frame.length, at + 4 + size);
  const payload = frame.subarray(at + 4).map((byte, index) => byte ^ key[index % 4]);
  return { first: frame[0], key: view.getUint32(at), payload };
}

Deno.test("acceptFor is what RFC 6455 gives as its example", () => {
  assert.equal(acceptFor("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
});

Deno.test("frameInPlace writes frames of every length that a server reads back, masked or not", () => {
  for (const size of [0, 1, 2, 3, 4, 5, 125, 126, 127, 65_535, 65_536, 65_537]) {
    for (const masked of [false, true]) {
      const buffer = new Uint8Array(16 + size);
      const payload = buffer.subarray(16);
      for (let at = 0; at < size; at++) payload[at] = at * 7;
      const sent = payload.slice();
      const start = frameInPlace(buffer, 16, buffer.length, Opcode.binary, size % 2 === 0, masked);
      assert(16 - start <= MAX_FRAME_HEAD);
      const frame = unmask(buffer.subarray(start));
      assert.equal(frame.first, (size % 2 === 0 ? 0x80 : 0) | 2);
      assert.deepEqual(frame.payload, sent);
      if (!masked) assert.equal(frame.key, 0);
    }
  }
});

Deno.test("frameInPlace takes a fresh key for each masked frame", () => {
  const keys = new Set(Array.from({ length: 20 }, () => unmask(createFrame(Opcode.ping, new Uint8Array(4), true)).key));
  assert(keys.size > 1);
});

Deno.test("createClosePayload is code and reason, cut between characters, or empty for none", () => {
  assert.deepEqual(createClosePayload(1000, "bye"), Uint8Array.of(3, 232, 98, 121, 101));
  assert.deepEqual(createClosePayload(1005, "x"), new Uint8Array(0));
  const cut = createClosePayload(4000, "x" + "€".repeat(60));
  assert.equal(new TextDecoder("utf-8", { fatal: true }).decode(cut.subarray(2)), "x" + "€".repeat(40));
});

/** A server's frame. */
function frame(opcode: number, payload: Uint8Array, fin = true): Uint8Array {
  const head = [(fin ? 0x80 : 0) | opcode];
  if (payload.length < 126) head.push(payload.length);
  else if (payload.length < 65_536) head.push(126, payload.length >> 8, payload.length & 255);
  else head.push(127, 0, 0, 0, 0, 0, payload.length >> 16, (payload.length >> 8) & 255, payload.length & 255);
  return Uint8Array.of(...head, ...payload);
}

/** What a reader makes of bytes pushed in pieces that end at `cuts`. */
function read(bytes: Uint8Array, cuts: number[]) {
  const messages: { text: boolean; bytes: number[] }[] = [], controls: unknown[] = [];
  let current: number[] = [];
  const reader = new FrameReader({
    onPiece(piece, text, last) {
      current.push(...piece);
      if (!last) return;
      messages.push({ text, bytes: current });
      current = [];
    },
    onControl: (opcode, payload) => controls.push([opcode, [...payload]]),
  });
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  [...ends, bytes.length].reduce((from, to) => (reader.push(bytes.subarray(from, to)), to), 0);
  return { messages, controls };
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

Deno.test("FrameReader finds the same messages and control frames wherever the bytes are cut", () => {
  fc.assert(
    fc.property(fc.array(message, { maxLength: 4 }), fc.array(fc.nat(), { maxLength: 12 }), (messages, cuts) => {
      const frames = messages.flatMap(({ text, parts, ping }) =>
        parts.flatMap((part, index) => [
          frame(index > 0 ? 0 : text ? 1 : 2, part, index === parts.length - 1),
          ...(ping === null ? [] : [frame(Opcode.ping, ping)]),
        ])
      );
      const seen = read(Uint8Array.from(frames.flatMap((bytes) => [...bytes])), cuts);
      assert.deepEqual(
        seen.messages,
        messages.map(({ text, parts }) => ({ text, bytes: parts.flatMap((part) => [...part]) })),
      );
      assert.equal(seen.controls.length, messages.reduce((sum, { parts, ping }) => sum + (ping ? parts.length : 0), 0));
    }),
    { numRuns: 60 },
  );
});

Deno.test("FrameReader reads every frame byte by byte", () => {
  const frames = [
    frame(1, new TextEncoder().encode("héllo")),
    frame(Opcode.close, Uint8Array.of(3, 232, 65)),
    frame(2, new Uint8Array(300)),
  ];
  const bytes = Uint8Array.from(frames.flatMap((part) => [...part]));
  const cuts = Array.from(bytes, (_, at) => at);
  assert.deepEqual(read(bytes, cuts), read(bytes, []));
  assert.equal(read(bytes, []).messages.length, 2);
});

const violations: [name: string, bytes: Uint8Array][] = [
  ["a masked frame", Uint8Array.of(0x82, 0x80, 0, 0, 0, 0)],
  ["an extension's bit", Uint8Array.of(0xc2, 0)],
  ["an unknown opcode", Uint8Array.of(0x83, 0)],
  ["an unknown control opcode", Uint8Array.of(0x8b, 0)],
  ["a cut-up ping", Uint8Array.of(0x09, 0)],
  ["a long ping", Uint8Array.of(0x89, 126, 0, 126)],
  ["a continuation of nothing", Uint8Array.of(0x80, 0)],
  ["a message inside another", Uint8Array.of(0x02, 0, 0x82, 0)],
  ["a length beyond any number", Uint8Array.of(0x82, 127, 255, 0, 0, 0, 0, 0, 0, 0)],
];

for (const [name, bytes] of violations) {
  Deno.test(`FrameReader refuses ${name}`, () => {
    assert.throws(() => read(bytes, []), WebSocketError);
  });
}

Deno.test("FrameReader meets random bytes with WebSocketError or patience", () => {
  const bytes = fc.uint8Array({ maxLength: 40 });
  fc.assert(
    fc.property(fc.array(bytes, { maxLength: 5 }), (pieces) => {
      try {
        read(Uint8Array.from(pieces.flatMap((piece) => [...piece])), pieces.map((piece) => piece.length));
      } catch (error) {
        assert(error instanceof WebSocketError, String(error));
      }
    }),
    { numRuns: 3000 },
  );
});
