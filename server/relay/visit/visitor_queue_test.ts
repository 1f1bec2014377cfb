import assert from "node:assert/strict";
import { decodeLatin1, encodeLatin1 } from "../../../net/http1/mod.ts";
import { settle } from "./_client_end.ts";
import { OutQueue } from "./out_queue.ts";

/** A queue to a visitor who takes a write when the test says so. */
function createQueue() {
  const writes: string[] = [];
  let taken = 0;
  const seen = { failed: 0 };
  let resolve = () => {}, reject = (_: unknown) => {};
  const queue = new OutQueue(
    (bytes, isLast) => {
      writes.push(decodeLatin1(bytes, 0, bytes.length) + (isLast ? "." : ""));
      return new Promise<void>((onTaken, onFailed) => [resolve, reject] = [onTaken, onFailed]);
    },
    (bytes) => taken += bytes,
    () => seen.failed++,
  );
  const take = async () => {
    resolve();
    await settle();
  };
  const fail = async () => {
    reject(new Error("gone"));
    await settle();
  };
  return { queue, writes, taken: () => taken, seen, take, fail };
}

/** A piece whose memory is used again by the next. */
const memory = new Uint8Array(100_000);
function piece(text: string): Uint8Array {
  memory.set(encodeLatin1(text));
  return memory.subarray(0, text.length);
}

Deno.test("what comes while a write is under way goes out as one, and is told of when it was taken", async () => {
  const { queue, writes, taken, take } = createQueue();
  queue.push(piece("one"), false);
  await settle();
  queue.push(piece("two"), false);
  queue.push(piece("three"), false);
  assert.deepEqual([writes, taken()], [["one"], 0]);
  await take();
  assert.deepEqual([writes, taken()], [["one", "twothree"], 3]);
  await take();
  assert.equal(taken(), 11);
});

Deno.test("pieces of one turn go out as one", async () => {
  const { queue, writes, take } = createQueue();
  for (const text of ["one", "two", "three"]) queue.push(piece(text), text === "three");
  await settle();
  await take();
  assert.deepEqual(writes, ["onetwothree."]);
});

Deno.test("the end is told once, with the last write, or by a write of its own", async () => {
  const withIt = createQueue();
  withIt.queue.push(piece("one"), false);
  await settle();
  withIt.queue.push(piece("two"), true);
  await withIt.take();
  await withIt.take();
  assert.deepEqual(withIt.writes, ["one", "two."]);
  const behind = createQueue();
  behind.queue.push(piece("one"), false);
  await settle();
  behind.queue.push(piece(""), true);
  await behind.take();
  await behind.take();
  assert.deepEqual(behind.writes, ["one", "."]);
  const alone = createQueue();
  alone.queue.push(piece(""), true);
  await settle();
  await alone.take();
  assert.deepEqual(alone.writes, ["."]);
});

Deno.test("finish waits for what was pushed before", async () => {
  const { queue, writes, take } = createQueue();
  let finished = 0;
  queue.push(piece("one"), false);
  await settle();
  queue.push(piece("two"), false);
  queue.finish(() => finished++);
  await take();
  assert.equal(finished, 0);
  await take();
  assert.deepEqual([finished, writes], [1, ["one", "two"]]);
});

Deno.test("finish on an idle queue is at once", () => {
  const { queue } = createQueue();
  let finished = 0;
  queue.finish(() => finished++);
  assert.equal(finished, 1);
});

Deno.test("a queue that was dropped writes nothing more and ends nothing", async () => {
  const { queue, writes, take } = createQueue();
  let finished = 0;
  queue.push(piece("one"), false);
  await settle();
  queue.push(piece("two"), true);
  queue.drop();
  queue.push(piece("three"), true);
  queue.finish(() => finished++);
  await take();
  assert.deepEqual([writes, finished], [["one"], 0]);
});

Deno.test("a write that fails is told of once, and is the last", async () => {
  const { queue, writes, seen, fail, taken } = createQueue();
  queue.push(piece("one"), false);
  await settle();
  queue.push(piece("two"), true);
  await fail();
  queue.push(piece("three"), false);
  assert.deepEqual([writes, seen.failed, taken()], [["one"], 1, 0]);
});

Deno.test("10,000 small pieces cost a handful of writes, in order", async () => {
  const { queue, writes, taken, take } = createQueue();
  let all = "";
  for (let index = 0; index < 10_000; index++) {
    queue.push(piece(`${index},`), index === 9_999);
    all += `${index},`;
  }
  while (taken() < all.length) await take();
  assert.equal(writes.join(""), `${all}.`);
  assert(writes.length <= 8, `${writes.length} writes`);
});
