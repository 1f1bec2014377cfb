import assert from "node:assert/strict";
import { settle } from "./_relay_end.ts";
import { scriptConnect } from "./_script.ts";
import { UpstreamPool } from "./upstream_pool.ts";

const signal = new AbortController().signal;

function createPool() {
  const { connect, connections } = scriptConnect();
  return { pool: new UpstreamPool(connect, { hostname: "localhost", port: 1 }), connections };
}

Deno.test("UpstreamPool gives out the connection used last, and each to one user", async () => {
  const { pool } = createPool();
  const [one, two] = [await pool.open(signal), await pool.open(signal)];
  assert.equal(pool.take(), null);
  pool.release(one);
  pool.release(two);
  assert.deepEqual([pool.take(), pool.take(), pool.take()], [two, one, null]);
  pool.close();
});

Deno.test("UpstreamPool.closeIdle closes the old ones and keeps the others", async () => {
  const { pool, connections } = createPool();
  const [old, recent] = [await pool.open(signal), await pool.open(signal)];
  pool.release(old);
  pool.release(recent);
  old.idleSince = 1000;
  recent.idleSince = 2000;
  pool.closeIdle(1000);
  await settle();
  assert.deepEqual(connections.map(({ closed }) => closed), [true, false]);
  assert.equal(pool.take(), recent, "the old one's end took no other along");
  pool.close();
});

Deno.test("UpstreamPool closes what comes back after its end", async () => {
  const { pool, connections } = createPool();
  const [idle, used] = [await pool.open(signal), await pool.open(signal)];
  pool.release(idle);
  pool.close();
  pool.release(used);
  assert.deepEqual(connections.map(({ closed }) => closed), [true, true]);
  assert.equal(pool.take(), null);
});

Deno.test("UpstreamPool keeps a limited number of idle connections", async () => {
  const { pool, connections } = createPool();
  const all = await Promise.all(Array.from({ length: 300 }, () => pool.open(signal)));
  all.forEach((connection) => pool.release(connection));
  assert.equal(connections.filter(({ closed }) => !closed).length, 256);
  pool.close();
  await settle();
  assert(connections.every(({ closed }) => closed));
});
