import { deepEqual, equal, ok } from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { releaseBuffer } from "../../common/buffers/buffer_pool.ts";
import { PieceQueue } from "./chunk_queue.ts";

Deno.test("PieceQueue returns all bytes in order, whatever their chunks, and counts them", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.uint8Array({ maxLength: 5000 }), fc.constant(null))), (steps) => {
      const queue = new PieceQueue(), put: Uint8Array[] = [], got: Buffer[] = [];
      let size = 0;
      const take = () => {
        const next = queue.shift();
        if (next === undefined) return false;
        got.push(Buffer.from(next.bytes.subarray(0, next.used)));
        releaseBuffer(next.bytes);
        size -= next.used;
        return true;
      };
      for (const step of steps) {
        if (step === null) take();
        else {
          queue.push(step);
          put.push(step);
          size += step.length;
        }
        equal(queue.size, size);
      }
      while (take()) { /* until nothing waits */ }
      deepEqual(Buffer.concat(got), Buffer.concat(put));
    }),
  );
});

Deno.test("PieceQueue stores ten thousand one-byte chunks in few buffers, and drops them all", () => {
  const queue = new PieceQueue();
  for (let count = 0; count < 10_000; count++) queue.push(Uint8Array.of(1));
  equal(queue.drop(), 10_000);
  deepEqual([queue.size, queue.shift()], [0, undefined]);
  for (let count = 0; count < 10_000; count++) queue.push(Uint8Array.of(1));
  let pieces = 0;
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) pieces++;
  ok(pieces < 10, `${pieces} pieces`);
});
