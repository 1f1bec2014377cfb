import { deepEqual } from "node:assert/strict";
import { ApiError } from "../parts/api.js";
import { runBatch } from "./batch.js";

const taken = () => new ApiError(409, "already_exists", "It is there.");

Deno.test("runBatch does the others when one fails, and says which and why", async () => {
  const work = (item: string) =>
    item === "b" ? Promise.reject(new ApiError(403, "not_permitted", "No.")) : Promise.resolve();
  const outcome = await runBatch(["a", "b", "c"], { work, signal: new AbortController().signal });
  deepEqual(outcome, { done: ["a", "c"], skipped: [], failed: [{ item: "b", reason: "No." }], isStopped: false });
});

Deno.test("runBatch asks about what is taken and does it as was said, or leaves it out", async () => {
  const calls: string[] = [];
  const work = (item: string, choice: string | null) => {
    calls.push(`${item} ${choice}`);
    return choice === null ? Promise.reject(taken()) : Promise.resolve();
  };
  const onconflict = (item: string) => Promise.resolve(item === "a" ? "keep" as const : "skip" as const);
  const { done, skipped } = await runBatch(["a", "b"], { work, onconflict, signal: new AbortController().signal });
  deepEqual([calls, done, skipped], [["a null", "a keep", "b null"], ["a"], ["b"]]);
});

Deno.test("runBatch tells of a conflict as a failure when nobody can be asked, and stops between two items", async () => {
  const stopping = new AbortController();
  const work = (item: string) => {
    if (item === "b") stopping.abort();
    return item === "a" ? Promise.reject(taken()) : Promise.resolve();
  };
  const outcome = await runBatch(["a", "b", "c"], { work, signal: stopping.signal });
  deepEqual(outcome, { done: ["b"], skipped: [], failed: [{ item: "a", reason: "It is there." }], isStopped: true });
});
