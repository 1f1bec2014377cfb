import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { listen } from "../_test_peer.ts";
import { systemTurn } from "./deno.ts";
import { denoDriver } from "../deno.ts";
import { openConnector } from "../open.ts";

const connect = openConnector({ driver: denoDriver });

Deno.test("a loop of reads leaves turns to others, however much is there to be read", async () => {
  const size = 100_000;
  await using peer = await listen((socket) => void socket.end(new Uint8Array(size)));
  const connection = await connect(peer);
  const into = new Uint8Array(10);
  let reads = 0, before = 0, most = 0, going = true;
  const turn = () => {
    most = Math.max(most, reads - before);
    before = reads;
    if (going) setImmediate(turn);
  };
  turn();
  for (; await connection.read(into) !== null;) reads++;
  going = false;
  assert(reads >= size / into.length);
  // Without it 128, which is where Deno's scheduler stops, but not to ask the system.
  assert(most <= 100, `${most} reads in one turn`);
  connection.close();
});

Deno.test("large writes to many leave turns to others, and all are made", async () => {
  await using peer = await listen((socket) => void socket.pause());
  const connections = await Promise.all(Array.from({ length: 300 }, () => connect(peer)));
  const bytes = new Uint8Array(32 * 1024);
  let writes = 0, before = 0, most = 0, going = true;
  const turn = () => {
    most = Math.max(most, writes - before);
    before = writes;
    if (going) setImmediate(turn);
  };
  turn();
  await Promise.all(connections.map((connection) => connection.write(bytes).then(() => writes++)));
  going = false;
  assert.equal(writes, connections.length);
  // Without it nearly all of them.
  assert(most <= 70, `${most} writes in one turn`);
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
