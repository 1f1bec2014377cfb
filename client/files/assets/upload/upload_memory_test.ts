import { deepEqual, equal } from "node:assert/strict";
import { UploadMemory } from "./upload_memory.js";

function createStore(kept: string | null = null) {
  let value = kept;
  return { getItem: () => value, setItem: (_: string, next: string) => void (value = next) };
}

const FILE = { size: 10, lastModified: 5 };
const ITEM = { id: "one", names: ["docs", "a.bin"], mode: "new" as const };

Deno.test("UploadMemory finds the upload of the same file to the same place, and of no other", () => {
  const store = createStore();
  new UploadMemory(store).keep(ITEM, FILE);
  const memory = new UploadMemory(store);
  deepEqual(memory.find(["docs", "a.bin"], FILE), { id: "one", mode: "new" });
  equal(memory.find(["a.bin"], FILE), null);
  equal(memory.find(["docs", "a.bin"], { ...FILE, size: 11 }), null);
  equal(memory.find(["docs", "a.bin"], { ...FILE, lastModified: 6 }), null);
  memory.forget("one");
  equal(memory.find(["docs", "a.bin"], FILE), null);
});

Deno.test("UploadMemory forgets after a day, keeps a hundred at most, and takes nonsense for nothing", () => {
  let now = 0;
  const memory = new UploadMemory(createStore(), () => now);
  for (let index = 0; index < 150; index++) memory.keep({ ...ITEM, id: String(index) }, FILE);
  deepEqual([memory.list().length, memory.list()[0].id], [100, "50"]);
  now = 24 * 60 * 60 * 1000 + 1;
  deepEqual(memory.list(), []);
  for (const nonsense of ["{", "{}", '[{"id":1}]', "[null]"]) {
    deepEqual(new UploadMemory(createStore(nonsense)).list(), []);
  }
});

Deno.test("UploadMemory does without a store that takes nothing", () => {
  const memory = new UploadMemory({
    getItem: () => null,
    setItem: () => {
      throw new DOMException("full", "QuotaExceededError");
    },
  });
  memory.keep(ITEM, FILE);
  deepEqual(memory.list(), []);
});
