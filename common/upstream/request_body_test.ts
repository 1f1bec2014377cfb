import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { createChunkedDecoder } from "../http1/mod.ts";
import { BodyWriter } from "./request_body.ts";
import { UpstreamConnection } from "./connection.ts";

/** A connection whose writes take as many turns as they are told, and read their bytes at the end of that time. */
function createSlowConnection(turns: () => number) {
  const written: Buffer[] = [];
  const connection = new UpstreamConnection(
    {
      read: () => Promise.resolve(null),
      async write(bytes) {
        await pass(turns());
        written.push(Buffer.from(bytes));
      },
      closeWrite: () => Promise.resolve(),
      close() {},
    },
    "http://upstream.test",
    () => {},
  );
  return { connection, written };
}

async function pass(turns: number): Promise<void> {
  for (let left = turns; left > 0; left--) await Promise.resolve();
}

Deno.test("BodyWriter sends every byte once and in order, however pieces and writes fall", async () => {
  const sizes = fc.array(fc.oneof(fc.nat(20), fc.nat(20_000), fc.nat(400_000)), { maxLength: 12 });
  const turns = fc.infiniteStream(fc.nat(9));
  await fc.assert(
    fc.asyncProperty(sizes, turns, fc.boolean(), async (sizes, turns, chunked) => {
      const { connection, written } = createSlowConnection(() => turns.next().value ?? 0);
      const writer = new BodyWriter(connection, chunked);
      const pieces = sizes.map((size, i) => Buffer.alloc(size, i + 1));
      const wanted = Buffer.concat(pieces);
      for (const piece of pieces) {
        await pass(turns.next().value ?? 0);
        await writer.take(piece);
        // Its memory is the caller's again.
        piece.fill(0xff);
      }
      await writer.finish();
      assert(Buffer.concat(chunked ? decode(Buffer.concat(written)) : written).equals(wanted));
    }),
    { numRuns: 200 },
  );
});

Deno.test("BodyWriter writes the first piece at once, and together what comes during a write", async () => {
  const { connection, written } = createSlowConnection(() => 50);
  const writer = new BodyWriter(connection, false);
  for (const text of ["a", "b", "c", "d"]) await writer.take(Buffer.from(text));
  await writer.finish();
  assert.deepEqual(written.map(String), ["a", "bcd"]);
});

function decode(bytes: Buffer): Uint8Array[] {
  const decoder = createChunkedDecoder();
  const pieces: Uint8Array[] = [];
  const taken = decoder.push(bytes, (data) => pieces.push(data));
  assert(decoder.done && taken === bytes.length);
  return pieces;
}
