import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { listen } from "../_test_peer.ts";
import { systemTurn, writeSoon } from "./deno.ts";
import { denoDriver } from "../deno.ts";
import { openConnector } from "../open.ts";

const connect = openConnector({ driver: denoDriver });

/** Counts what is done, and the most of it in one turn of the event loop. */
function countTurns() {
  const counts = { done: 0, most: 0, isOver: false };
  let before = 0;
  const turn = () => {
    counts.most = Math.max(counts.most, counts.done - before);
    before = counts.done;
    if (!counts.isOver) setImmediate(turn);
  };
  turn();
  return counts;
}

Deno.test("a loop of reads leaves turns to others, however much is there to be read", async () => {
  const size = 100_000;
  await using peer = await listen((socket) => void socket.end(new Uint8Array(size)));
  const connection = await connect(peer);
  const into = new Uint8Array(10);
  const reads = countTurns();
  for (; await connection.read(into) !== null;) reads.done++;
  reads.isOver = true;
  assert(reads.done >= size / into.length);
  // Without it 128, which is where Deno's scheduler stops, but not to ask the system.
  assert(reads.most <= 100, `${reads.most} reads in one turn`);
  connection.close();
});

Deno.test("large writes to many leave turns to others, and all are made", async () => {
  await using peer = await listen((socket) => void socket.pause());
  const connections = await Promise.all(Array.from({ length: 300 }, () => connect(peer)));
  const bytes = new Uint8Array(32 * 1024);
  const writes = countTurns();
  await Promise.all(connections.map((connection) => connection.write(bytes).then(() => writes.done++)));
  writes.isOver = true;
  assert.equal(writes.done, connections.length);
  // Without it nearly all of them.
  assert(writes.most <= 70, `${writes.most} writes in one turn`);
  for (const connection of connections) connection.close();
});

Deno.test("systemTurn comes to an end each time, for all who wait for it", async () => {
  for (let count = 0; count < 100; count++) await Promise.all([systemTurn(), systemTurn()]);
  const first = systemTurn();
  assert.equal(systemTurn(), first);
  await first;
  assert.notEqual(systemTurn(), first);
  await systemTurn();
});

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
