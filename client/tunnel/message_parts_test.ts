import assert from "node:assert/strict";
import fc from "fast-check";
import { MAX_MESSAGE } from "../../protocol/mod.ts";
import { MessageParts } from "./message_parts.ts";
import { Opcode } from "./websocket.ts";

Deno.test("MessageParts gives back what was cut, wherever it was cut", () => {
  fc.assert(fc.property(fc.array(fc.uint8Array({ maxLength: 50 }), { minLength: 1, maxLength: 20 }), (pieces) => {
    const parts = new MessageParts();
    let message: Uint8Array | null = null;
    pieces.forEach((piece, index) => {
      assert.equal(message, null);
      message = parts.push(index === 0 ? Opcode.binary : Opcode.continuation, index === pieces.length - 1, piece);
    });
    assert.deepEqual([...message!], pieces.flatMap((piece) => [...piece]));
  }));
});

Deno.test("MessageParts refuses a message that grows beyond the limit", () => {
  const parts = new MessageParts();
  const half = new Uint8Array(MAX_MESSAGE / 2);
  parts.push(Opcode.binary, false, half);
  parts.push(Opcode.continuation, false, half);
  assert.throws(() => parts.push(Opcode.continuation, false, Uint8Array.of(1)), /too large/);
});
