import assert from "node:assert/strict";
import fc from "fast-check";
import { latin1, ScriptedConnection, settle } from "./_script.ts";
import { WriteQueue } from "./body_writer.ts";

function createQueue() {
  const connection = new ScriptedConnection();
  const told = { credit: 0, broken: 0, drained: 0 };
  const queue = new WriteQueue(
    (bytes) => told.credit += bytes,
    () => told.broken++,
    () => told.drained++,
  );
  queue.start(connection);
  return { connection, queue, told };
}

Deno.test("WriteQueue writes what came in one turn in one go, from copies", async () => {
  const { connection, queue, told } = createQueue();
  const piece = latin1("abc");
  for (let count = 0; count < 3; count++) queue.push(piece, 3);
  piece.fill(0);
  assert.equal(queue.isEmpty, false);
  await settle();
  assert.deepEqual([connection.text, connection.written.length, told], ["abcabcabc", 1, {
    credit: 9,
    broken: 0,
    drained: 1,
  }]);
  assert.equal(queue.isEmpty, true);
});

Deno.test("WriteQueue keeps order and every byte, whatever the pieces, one write at a time", async () => {
  const piece = fc.oneof(fc.nat(100), fc.constantFrom(0, 4096, 65_536), fc.nat(70_000));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(piece, fc.boolean()), { maxLength: 20 }), async (pieces) => {
      const { connection, queue, told } = createQueue();
      let size = 0;
      for (const [length, pause] of pieces) {
        queue.push(Uint8Array.from({ length }, (_, at) => size + at), length);
        size += length;
        if (pause) await settle();
      }
      await settle();
      let at = 0;
      for (const bytes of connection.written) assert(bytes.every((byte) => byte === (at++ & 255)));
      assert.deepEqual([at, told.credit, connection.overlapped], [size, size, false]);
    }),
    { numRuns: 30 },
  );
});

Deno.test("WriteQueue gives credit for what was written only, and none once it broke or was stopped", async () => {
  const { connection, queue, told } = createQueue();
  connection.holdWrites = true;
  queue.push(latin1("abc"), 3);
  await settle();
  queue.push(latin1("def"), 3);
  await settle();
  assert.equal(told.credit, 0);
  connection.letWrite();
  await settle();
  assert.equal(told.credit, 6);
  connection.failWrites = true;
  queue.push(latin1("ghi"), 3);
  await settle();
  queue.push(latin1("jkl"), 3);
  await settle();
  assert.deepEqual([told.credit, told.broken, connection.text], [6, 1, "abcdef"]);
});

Deno.test("WriteQueue writes what came before its start behind what it starts with", async () => {
  const connection = new ScriptedConnection();
  let credit = 0;
  const queue = new WriteQueue((bytes) => credit += bytes, () => {}, () => {});
  queue.push(latin1("body"), 4);
  await settle();
  assert.deepEqual([connection.text, queue.isEmpty], ["", false]);
  queue.start(connection, latin1("head "));
  queue.push(latin1(" more"), 5);
  await settle();
  assert.deepEqual([connection.text, credit, queue.isEmpty], ["head body more", 9, true]);
});
