import assert from "node:assert/strict";
import { FairQueue } from "./pool.ts";

function takeAll<T>(queue: FairQueue<T>): (T | undefined)[] {
  return Array.from({ length: queue.size }, () => queue.shift());
}

Deno.test("FairQueue gives each their turn, however many others have", () => {
  const queue = new FairQueue<string>();
  for (let count = 0; count < 4; count++) queue.push("many", `many ${count}`);
  queue.push("one", "one");
  queue.push("two", "two 0");
  queue.push("two", "two 1");
  assert.deepEqual(takeAll(queue), ["many 0", "one", "two 0", "many 1", "two 1", "many 2", "many 3"]);
  assert.deepEqual([queue.shift(), queue.size], [undefined, 0]);
});

Deno.test("FairQueue forgets who waits no longer, and nobody else", () => {
  const queue = new FairQueue<string>();
  for (const [whose, item] of [["a", "a 0"], ["a", "a 1"], ["b", "b 0"]]) queue.push(whose, item);
  queue.delete("b", "b 0");
  queue.delete("b", "b 0");
  queue.delete("a", "a 0");
  queue.delete("a", "b 0");
  assert.deepEqual(takeAll(queue), ["a 1"]);
});
