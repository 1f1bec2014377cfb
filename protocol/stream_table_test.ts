import assert from "node:assert/strict";
import fc from "fast-check";
import { MAX_SLOTS, StreamTable } from "./stream_table.ts";

Deno.test("StreamTable hands out ids that no open stream has, and knows those that were", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.constant(null), fc.nat(20)), { maxLength: 200 }), (steps) => {
      const table = new StreamTable<{ id: number }>();
      const open: { id: number }[] = [], ended: { id: number }[] = [];
      for (const step of steps) {
        if (step === null || open.length === 0) {
          const entry = { id: table.nextId() };
          assert(entry.id >= MAX_SLOTS && entry.id <= 0xffffffff);
          assert.equal(table.wasOpen(entry.id), false);
          table.add(entry);
          open.push(entry);
        } else {
          const [entry] = open.splice(step % open.length, 1);
          table.delete(entry);
          ended.push(entry);
        }
        assert.equal(table.size, open.length);
        assert(open.every((entry) => table.get(entry.id) === entry && table.isTaken(entry.id)));
        assert(ended.every(({ id }) => table.get(id) === undefined && table.wasOpen(id)));
        assert.deepEqual(new Set(table.entries()), new Set(open));
      }
    }),
  );
});

Deno.test("StreamTable counts a slot's uses around the circle and never gives out id 0 to 65535", () => {
  const table = new StreamTable<{ id: number }>();
  let last = 0;
  for (let count = 0; count < 0xffff; count++) {
    const entry = { id: table.nextId() };
    table.add(entry);
    table.delete(entry);
    last = entry.id;
  }
  assert.equal(last, 0xffff * MAX_SLOTS);
  assert.equal(table.nextId(), MAX_SLOTS);
  assert.equal(table.wasOpen(0), false);
  assert.equal(table.wasOpen(1), false);
});

Deno.test("StreamTable takes ids of a peer in any slot, the largest id too", () => {
  const table = new StreamTable<{ id: number }>();
  const entry = { id: 0xffffffff };
  assert.equal(table.wasOpen(entry.id), false);
  table.add(entry);
  assert.equal(table.get(0xffffffff), entry);
  assert.deepEqual([table.size, table.isTaken(0x1ffff), table.isTaken(0x10000)], [1, true, false]);
  table.delete(entry);
  assert.deepEqual([table.size, table.wasOpen(0xffffffff)], [0, true]);
});
