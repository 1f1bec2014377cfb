import assert from "node:assert/strict";
import { ScriptedConnection, settle } from "./_script.ts";
import { PoolExhausted, type PoolLimits, UpstreamPool } from "./pool.ts";
import type { Ending } from "./types.ts";

const KEY = "http://upstream.test";

function createPool(limits: Partial<PoolLimits> = {}) {
  const connections: ScriptedConnection[] = [];
  const pool = new UpstreamPool({
    perKey: Infinity,
    dialing: Infinity,
    unheard: Infinity,
    unheardMs: 0,
    total: Infinity,
    idlePerKey: 256,
    idleMs: 30_000,
    ...limits,
  });
  const dial = () => {
    const connection = new ScriptedConnection();
    connections.push(connection);
    return Promise.resolve(connection);
  };
  return { pool, connections, open: () => pool.open(KEY, dial) };
}

Deno.test("UpstreamPool gives out the connection used last, and each to one user", async () => {
  const { pool, open } = createPool();
  const [one, two] = [await open(), await open()];
  assert.deepEqual([pool.take(KEY), one.isKept], [null, false]);
  pool.release(one);
  pool.release(two);
  assert.deepEqual([pool.take("another"), pool.take(KEY), pool.take(KEY), pool.take(KEY)], [null, two, one, null]);
  assert.equal(one.isKept, true);
  pool.close();
});

Deno.test("UpstreamPool.closeIdle closes the old ones and keeps the others", async () => {
  const { pool, connections, open } = createPool({ idleMs: 1000 });
  const [old, recent, told] = [await open(), await open(), await open()];
  for (const connection of [old, recent, told]) pool.release(connection);
  old.idleSince = 1000;
  recent.idleSince = told.idleSince = 1500;
  told.keepMs = 400;
  pool.closeIdle(2000);
  await settle();
  assert.deepEqual(connections.map(({ closed }) => closed), [true, false, true]);
  assert.equal(pool.take(KEY), recent, "the end of others took it along");
  pool.close();
});

Deno.test("UpstreamPool closes what comes back after its end", async () => {
  const { pool, connections, open } = createPool();
  const [idle, used] = [await open(), await open()];
  pool.release(idle);
  pool.close();
  pool.release(used);
  assert.deepEqual(connections.map(({ closed }) => closed), [true, true]);
  assert.equal(pool.take(KEY), null);
});

Deno.test("UpstreamPool keeps a limited number of idle connections", async () => {
  const { pool, connections, open } = createPool();
  const all = await Promise.all(Array.from({ length: 300 }, open));
  for (const connection of all) pool.release(connection);
  assert.equal(connections.filter(({ closed }) => !closed).length, 256);
  pool.close();
  await settle();
  assert(connections.every(({ closed }) => closed));
});

Deno.test("UpstreamPool drops an idle connection that its upstream ends, or that says anything", async () => {
  const { pool, connections, open } = createPool();
  for (const connection of [await open(), await open()]) pool.release(connection);
  connections[0].end();
  connections[1].send("?");
  await settle();
  assert.deepEqual([pool.take(KEY), ...connections.map(({ closed }) => closed)], [null, true, true]);
  pool.close();
});

Deno.test("UpstreamPool gives who waits a connection that is released, and lets it dial when dialling failed", async () => {
  const { pool, connections, open } = createPool({ perKey: 1 });
  const failing = pool.open(KEY, () => Promise.reject(new Error("nobody there")));
  const first = open(), second = open();
  await assert.rejects(failing, /nobody there/);
  pool.release(await first);
  assert.equal(await second, await first);
  assert.equal(connections.length, 1);
  (await second).close();
  pool.close();
});

/** Opens connections that are there when they are told to be. */
function createSlowPool(limits: Partial<PoolLimits>) {
  const { pool } = createPool(limits);
  const dials: ReturnType<typeof Promise.withResolvers<ScriptedConnection>>[] = [];
  const dial = () => {
    dials.push(Promise.withResolvers());
    return dials[dials.length - 1].promise;
  };
  return { pool, dials, open: (ending?: Ending, whose?: string) => pool.open(KEY, dial, ending, whose) };
}

Deno.test("UpstreamPool opens so many at a time, and others get what is there first, in turn", async () => {
  const { pool, dials, open } = createSlowPool({ dialing: 2 });
  const [one, two, three, four, five] = Array.from({ length: 5 }, () => open());
  await settle();
  assert.equal(dials.length, 2);
  dials[0].resolve(new ScriptedConnection());
  const first = await one;
  await settle();
  assert.equal(dials.length, 3, "one was opened, so the third may open its own");
  pool.release(first);
  assert.equal(await four, first, "the fourth waits no longer than for the first that is done");
  dials[1].reject(new Error("nobody there"));
  await assert.rejects(two, /nobody there/);
  await settle();
  assert.equal(dials.length, 4, "one has failed, so the fifth may open its own");
  for (const dialled of dials.slice(2)) dialled.resolve(new ScriptedConnection());
  for (const opened of [three, four, five]) (await opened).close();
  pool.close();
});

Deno.test("UpstreamPool opens more as its upstream takes them: when it answers, or after a time", async () => {
  const { pool, dials, open } = createSlowPool({ unheard: 2, unheardMs: 60_000 });
  const all = Array.from({ length: 5 }, () => open());
  await settle();
  const [first, second] = [new ScriptedConnection(), new ScriptedConnection()];
  dials[0].resolve(first);
  dials[1].resolve(second);
  const [one, two] = [await all[0], await all[1]];
  await settle();
  assert.equal(dials.length, 2, "its system has opened both, and it may have accepted neither");
  const answered = one.fill();
  first.send("HTTP/1.1 200 OK\r\n");
  await answered;
  await settle();
  assert.equal(dials.length, 3);
  two.close();
  await settle();
  assert.equal(dials.length, 4, "nobody waits for one that was given up");
  for (const dialled of dials.slice(2)) dialled.resolve(new ScriptedConnection());
  await all[3];
  pool.close();

  const patient = createSlowPool({ unheard: 1, unheardMs: 1 });
  const mine = patient.open(), next = patient.open();
  await settle();
  patient.dials[0].resolve(new ScriptedConnection());
  await mine;
  while (patient.dials.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
  patient.dials[1].resolve(new ScriptedConnection());
  await next;
  patient.pool.close();
});

Deno.test("UpstreamPool forgets a request that ends while it waits, and tells it when there can be none", async () => {
  const { pool, dials, open } = createSlowPool({ dialing: 1, total: 1 });
  const first = open();
  let end = () => {};
  const second = open({ reason: null, onEnd: (now) => end = () => now?.(new Error("the visitor left")) });
  const third = open();
  await settle();
  end();
  await assert.rejects(second, PoolExhausted);
  dials[0].resolve(new ScriptedConnection());
  await assert.rejects(third, PoolExhausted);
  (await first).close();
  const again = open();
  await settle();
  dials[1].resolve(new ScriptedConnection());
  (await again).close();
  pool.close();
});

Deno.test("UpstreamPool lets those who wait take turns, whoever has how many", async () => {
  const { pool, dials, open } = createSlowPool({ dialing: 1 });
  const crowd = Array.from({ length: 50 }, () => open(undefined, "crowd"));
  const newcomer = open(undefined, "newcomer");
  await settle();
  for (let count = 0; count < 3; count++) {
    dials[count].resolve(new ScriptedConnection());
    await settle();
  }
  assert.equal((await newcomer).isClosed, false);
  for (let count = 3; count < 51; count++) {
    dials[count].resolve(new ScriptedConnection());
    await settle();
  }
  for (const opened of [newcomer, ...crowd]) (await opened).close();
  pool.close();
});
