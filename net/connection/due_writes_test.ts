import assert from "node:assert/strict";
import { writeSoon } from "./due_writes.ts";

Deno.test("writeSoon has everybody write in order, once what is due already has been done", async () => {
  const done: string[] = [];
  const due = (name: string, more: () => void = () => {}) => ({ writeDue: () => (done.push(name), more()) });
  const later = due("later");
  queueMicrotask(() => {
    done.push("read");
    writeSoon(due("third"));
  });
  writeSoon(due("first"));
  writeSoon(due("second", () => writeSoon(later)));
  await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual(done, ["read", "first", "second", "third", "later"]);
});
