import assert from "node:assert/strict";
import { acquireBuffer, LARGE, releaseBuffer, SMALL } from "./buffer_pool.ts";

Deno.test("memory that was given back is used again, for what fits into it", () => {
  for (const size of [1, SMALL, SMALL + 1, LARGE, LARGE + 20]) {
    const memory = acquireBuffer(size);
    assert(memory.length >= size);
    releaseBuffer(memory);
    assert.equal(acquireBuffer(size), memory);
  }
});

Deno.test("large memory is freed at once when enough of it is kept", () => {
  const memories = Array.from({ length: 200 }, () => acquireBuffer(LARGE));
  memories.forEach(releaseBuffer);
  assert(memories.filter(({ buffer }) => buffer.detached).length > 100);
});

Deno.test("small memory lies side by side, and no two pieces have a byte in common", () => {
  const pieces = Array.from({ length: 100 }, () => acquireBuffer(SMALL));
  pieces.forEach((piece, index) => piece.fill(index));
  pieces.forEach((piece, index) => assert(piece.every((byte) => byte === index)));
  assert(new Set(pieces.map(({ buffer }) => buffer)).size < 20);
});

Deno.test("small memory is let go of after a crowd, but for what lies beside a piece in use", () => {
  const pieces = Array.from({ length: 20_000 }, () => acquireBuffer(SMALL));
  const slabs = new Set(pieces.map(({ buffer }) => buffer));
  const [used] = pieces.splice(10_000, 1);
  used.fill(7);
  pieces.forEach(releaseBuffer);
  const again = Array.from({ length: 20_000 }, () => acquireBuffer(SMALL));
  const kept = again.filter(({ buffer }) => slabs.has(buffer)).length;
  assert(kept < 5000, `${kept} pieces were kept`);
  again.forEach((piece) => piece.fill(1));
  assert(used.every((byte) => byte === 7));
});
