import assert from "node:assert/strict";
import fc from "fast-check";
import { readMasked } from "./_test_frames.ts";
import {
  applyMask,
  createClosePayload,
  createFrame,
  FRAME_SPACE,
  frameInPlace,
  Opcode,
  parseClosePayload,
  WebSocketError,
} from "./frames.ts";
import { acceptFor } from "./handshake.ts";

Deno.test("acceptFor returns the example of RFC 6455", () => {
  assert.equal(acceptFor("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
});

for (const masking of ["random", "zero"] as const) {
  Deno.test(`frameInPlace writes frames of every length that a server reads back, with a ${masking} mask`, () => {
    for (const size of [0, 1, 2, 3, 4, 5, 125, 126, 127, 65_535, 65_536, 65_537]) {
      const buffer = new Uint8Array(FRAME_SPACE + size);
      const payload = buffer.subarray(FRAME_SPACE);
      for (let at = 0; at < size; at++) payload[at] = at * 7;
      const sent = payload.slice();
      const start = frameInPlace(buffer, FRAME_SPACE, buffer.length, Opcode.binary, size % 2 === 0, masking);
      const frame = readMasked(buffer.subarray(start));
      assert.equal(frame.first, (size % 2 === 0 ? 0x80 : 0) | 2);
      assert.deepEqual(frame.payload, sent);
      if (masking === "zero") assert.equal(frame.key, 0);
    }
  });
}

Deno.test("frameInPlace writes a server's frames without a mask", () => {
  assert.deepEqual(createFrame(Opcode.ping, Uint8Array.of(1, 2), "bare"), Uint8Array.of(0x89, 2, 1, 2));
  assert.deepEqual(
    createFrame(Opcode.binary, new Uint8Array(300), "bare").subarray(0, 4),
    Uint8Array.of(0x82, 126, 1, 44),
  );
  assert.deepEqual(
    createFrame(Opcode.binary, new Uint8Array(70_000), "bare").subarray(0, 10),
    Uint8Array.of(0x82, 127, 0, 0, 0, 0, 0, 1, 0x11, 0x70),
  );
});

Deno.test("frameInPlace uses a new key for each frame with a random mask", () => {
  const keys = new Set(
    Array.from({ length: 20 }, () => readMasked(createFrame(Opcode.ping, new Uint8Array(4), "random")).key),
  );
  assert(keys.size > 1);
});

Deno.test("applyMask uses the key bytes for the payload offset, wherever the bytes lie or are cut", () => {
  const key = fc.uint8Array({ minLength: 4, maxLength: 4 });
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 70 }),
      key,
      fc.nat(9),
      fc.nat(9),
      fc.nat(70),
      (payload, key, offset, gap, cut) => {
        const memory = new Uint8Array(100).subarray(offset);
        memory.set(payload, gap);
        const middle = Math.min(cut, payload.length);
        applyMask(memory, gap, gap + middle, key, 0);
        applyMask(memory, gap + middle, gap + payload.length, key, middle);
        const masked = payload.map((byte, index) => byte ^ key[index & 3]);
        assert.deepEqual(memory.slice(gap, gap + payload.length), masked);
        assert(memory.subarray(gap + payload.length).every((byte) => byte === 0), "it wrote behind the end");
      },
    ),
  );
});

Deno.test("createClosePayload returns code and reason, cut between characters, or nothing", () => {
  assert.deepEqual(createClosePayload(1000, "bye"), Uint8Array.of(3, 232, 98, 121, 101));
  assert.deepEqual(createClosePayload(1005, "x"), new Uint8Array(0));
  const cut = createClosePayload(4000, "x" + "€".repeat(60));
  assert.equal(new TextDecoder("utf-8", { fatal: true }).decode(cut.subarray(2)), "x" + "€".repeat(40));
});

Deno.test("parseClosePayload reads what createClosePayload wrote, and refuses codes that may not be sent", () => {
  assert.deepEqual(parseClosePayload(createClosePayload(4001, "söon")), { code: 4001, reason: "söon" });
  assert.deepEqual(parseClosePayload(new Uint8Array(0)), { code: 1005, reason: "" });
  for (const code of [0, 999, 1004, 1005, 1006, 1015, 2999, 5000]) {
    assert.throws(() => parseClosePayload(Uint8Array.of(code >> 8, code)), WebSocketError, String(code));
  }
  assert.throws(() => parseClosePayload(Uint8Array.of(3)), WebSocketError);
  assert.throws(() => parseClosePayload(Uint8Array.of(3, 232, 0xff)), { code: 1007 });
});
