import assert from "node:assert/strict";
import fc from "fast-check";
import { StreamTable } from "./stream.ts";

interface Entry {
  id: number;
  kind: "http" | "upgrade";
  next: Entry | null;
}

const ids = fc.oneof(fc.nat(40), fc.nat(40).map((slot) => 0xffffffff - slot), fc.nat(3).map((lap) => lap * 4096));

Deno.test("StreamTable holds what a Map would hold", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), ids), { maxLength: 300 }), (steps) => {
      const table = new StreamTable<Entry>();
      const model = new Map<number, Entry>();
      for (const [adds, id] of steps) {
        const known = model.get(id);
        if (adds && known === undefined) {
          const entry: Entry = { id, kind: id % 3 === 0 ? "upgrade" : "http", next: null };
          table.add(entry);
          model.set(id, entry);
        } else if (!adds) {
          // One that was never added has no effect either.
          table.delete(known ?? { id, kind: "http", next: null });
          model.delete(id);
        }
        assert.equal(table.size, model.size);
        assert.equal(table.count(true), [...model.values()].filter(({ kind }) => kind === "http").length);
        assert.equal(table.count(true) + table.count(false), model.size);
        assert.equal(table.get(id), model.get(id));
        assert.equal(table.has(id), model.has(id));
      }
      assert.deepEqual(new Set(table.entries()), new Set(model.values()));
      assert.equal(table.entries().length, model.size);
    }),
  );
});

Deno.test("StreamTable grows with its entries and finds each of them", () => {
  const table = new StreamTable<Entry>();
  const entries = Array.from(
    { length: 10_000 },
    (_, index): Entry => ({ id: index * 3 + 1, kind: "http", next: null }),
  );
  entries.forEach((entry) => table.add(entry));
  assert(entries.every((entry) => table.get(entry.id) === entry));
  entries.forEach((entry) => table.delete(entry));
  assert.deepEqual([table.size, table.entries()], [0, []]);
});
