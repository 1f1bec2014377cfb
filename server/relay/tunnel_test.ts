import assert from "node:assert/strict";
import { silentLogger } from "../../common/log.ts";
import { GoAwayReason, Mux } from "../../protocol/mod.ts";
import { createLocalPresence } from "../cluster/mod.ts";
import type { EphemeralTunnel, EphemeralTunnels, Traffic } from "../store/mod.ts";
import type { Session } from "./session.ts";
import { Tunnel } from "./tunnel.ts";
import { createTunnels } from "./tunnels.ts";

const record: EphemeralTunnel = {
  id: "id",
  label: "label",
  secretHash: "",
  createdAt: 0,
  expiresAt: 1000,
  bytesUsed: 0,
  bytesLimit: 100,
};

/** A session that notes why it was ended, and lets go of its tunnel then. */
function createSession(detach: (session: Session) => void = () => {}) {
  const ends: GoAwayReason[] = [];
  const session: Session = {
    mux: new Mux({ maxStreams: 1, maxUpgrades: 1, transport: { send() {} }, onEnd() {} }),
    address: "192.0.2.1",
    end(reason) {
      ends.push(reason);
      detach(session);
    },
  };
  return { session, ends };
}

function createTunnel(now = () => 0) {
  const tunnel = new Tunnel(record, createLocalPresence<Session>(), 0, now);
  return { tunnel, connect: () => createSession((session) => tunnel.detach(session)) };
}

Deno.test("Tunnel.gate lets visitors in until the time or the traffic is over", () => {
  let time = 0;
  const { tunnel } = createTunnel(() => time);
  assert.equal(tunnel.gate(), null);
  time = 999;
  assert.equal(tunnel.gate(), null);
  time = 1000;
  assert.deepEqual([tunnel.gate()?.status, tunnel.gate()?.code], [410, "tunnel_expired"]);
  tunnel.meter(100);
  assert.deepEqual([tunnel.gate()?.status, tunnel.gate()?.code], [410, "tunnel_traffic_exhausted"]);
});

Deno.test("Tunnel.meter ends the session the moment the traffic is used up", () => {
  const { tunnel, connect } = createTunnel();
  const { session, ends } = connect();
  tunnel.attach(session);
  tunnel.meter(99);
  assert.deepEqual(ends, []);
  tunnel.meter(1);
  assert.deepEqual([ends, tunnel.session], [[GoAwayReason.exhausted], null]);
});

Deno.test("Tunnel.attach tells the session that it takes over from", () => {
  const { tunnel, connect } = createTunnel(() => 500);
  const [older, newer] = [connect(), connect()];
  tunnel.attach(older.session);
  tunnel.attach(newer.session);
  assert.deepEqual([older.ends, newer.ends, tunnel.session], [[GoAwayReason.replaced], [], newer.session]);
  assert.equal(tunnel.droppedAt, 0, "the tunnel was never without one");
});

Deno.test("Tunnel.whenSession holds visitors only for a while after a session dropped off", async () => {
  let time = 500;
  const { tunnel, connect } = createTunnel(() => time);
  assert.equal(await tunnel.whenSession(100), null, "there never was one");
  const first = connect();
  tunnel.attach(first.session);
  assert.equal(await tunnel.whenSession(100), first.session);
  tunnel.detach(first.session);
  const held = [tunnel.whenSession(60_000), tunnel.whenSession(60_000)];
  const second = connect();
  tunnel.attach(second.session);
  assert.deepEqual(await Promise.all(held), [second.session, second.session]);
  tunnel.detach(second.session);
  assert.equal(await tunnel.whenSession(1), null, "the hold is over after a millisecond");
  time = 601;
  assert.equal(await tunnel.whenSession(100), null, "it dropped off too long ago");
});

Deno.test("Tunnel.whenSession holds a limited number of visitors", async () => {
  const { tunnel, connect } = createTunnel(() => 500);
  const { session } = connect();
  tunnel.attach(session);
  tunnel.detach(session);
  const held = Array.from({ length: 256 }, () => tunnel.whenSession(60_000));
  assert.equal(await tunnel.whenSession(60_000), null);
  tunnel.attach(session);
  assert((await Promise.all(held)).every((found) => found === session));
});

Deno.test("Tunnel.detach of a session that was replaced changes nothing", () => {
  const { tunnel } = createTunnel(() => 500);
  const [older, newer] = [createSession(), createSession()];
  tunnel.attach(older.session);
  tunnel.attach(newer.session);
  tunnel.detach(older.session);
  assert.deepEqual([tunnel.session, tunnel.droppedAt], [newer.session, 0]);
});

/** A store in memory that can be made to fail. */
function createStore() {
  const records = new Map<string, EphemeralTunnel>();
  const store = {
    records,
    failing: false,
    finds: 0,
    saved: [] as Traffic[],
    removals: [] as number[],
    insert: (tunnel: EphemeralTunnel) => Promise.resolve(void records.set(tunnel.label, tunnel)),
    findByLabel(label: string) {
      store.finds++;
      return Promise.resolve(records.get(label) ?? null);
    },
    findById: (id: string) => Promise.resolve([...records.values()].find((known) => known.id === id) ?? null),
    addTraffic(traffic: readonly Traffic[]) {
      if (store.failing) return Promise.reject(new Error("disk full"));
      store.saved.push(...traffic);
      return Promise.resolve();
    },
    removeExpired(time: number) {
      if (store.failing) return Promise.reject(new Error("disk full"));
      store.removals.push(time);
      return Promise.resolve(0);
    },
    count: () => Promise.resolve(records.size),
  } satisfies EphemeralTunnels & Record<string, unknown>;
  return store;
}

function open(now = { time: 0 }) {
  const store = createStore();
  const presence = createLocalPresence<Session>();
  const errors: string[] = [];
  const log = { ...silentLogger, error: (event: string) => void errors.push(event) };
  return { now, store, errors, tunnels: createTunnels({ store, presence, log, now: () => now.time }) };
}

Deno.test("tunnels are one object a record, however they are found", async () => {
  const { tunnels, store } = open();
  const added = await tunnels.add(record);
  assert.equal(tunnels.getByLabel("label"), added);
  assert.equal(await tunnels.findByLabel("label"), added);
  assert.equal(await tunnels.findById("id"), added);
  assert.equal(store.finds, 0);
  assert.equal(await tunnels.findByLabel("other"), null);
  assert.equal(await tunnels.findById("other"), null);
});

Deno.test("two visitors who ask for a stored tunnel at once get the same object", async () => {
  const { tunnels, store } = open();
  store.records.set("label", record);
  const [one, two] = await Promise.all([tunnels.findByLabel("label"), tunnels.findByLabel("label")]);
  assert.notEqual(one, null);
  assert.equal(one, two);
});

Deno.test("sweep stores traffic once, and what a failing store refused is stored later", async () => {
  const { tunnels, store, errors } = open();
  const tunnel = await tunnels.add(record);
  tunnel.meter(10);
  store.failing = true;
  await tunnels.sweep();
  assert.deepEqual([store.saved, errors], [[], ["traffic_not_saved"]]);
  store.failing = false;
  tunnel.meter(5);
  await tunnels.sweep();
  await tunnels.sweep();
  assert.deepEqual(store.saved, [{ id: "id", bytes: 15 }]);
});

Deno.test("sweep ends expired tunnels, and forgets those that nobody uses once their traffic is stored", async () => {
  const { tunnels, store, now } = open();
  const tunnel = await tunnels.add(record);
  const { session, ends } = createSession((ended) => tunnel.detach(ended));
  tunnel.attach(session);
  now.time = 999;
  await tunnels.sweep();
  assert.deepEqual(ends, []);
  now.time = 1000;
  await tunnels.sweep();
  assert.deepEqual(ends, [GoAwayReason.expired]);
  now.time = 60_999;
  await tunnels.sweep();
  assert.equal(tunnels.getByLabel("label"), tunnel);
  tunnel.meter(1);
  store.failing = true;
  now.time = 61_000;
  await tunnels.sweep();
  assert.equal(tunnels.getByLabel("label"), tunnel, "its traffic is not stored");
  store.failing = false;
  await tunnels.sweep();
  assert.equal(tunnels.getByLabel("label"), undefined);
});

Deno.test("sweep removes tunnels that expired a day ago, and a store that fails does not stop it", async () => {
  const { tunnels, store, now, errors } = open({ time: 100_000_000 });
  store.failing = true;
  await tunnels.sweep();
  assert.deepEqual(errors, ["traffic_not_saved", "expired_not_removed"]);
  store.failing = false;
  now.time += 10 * 60_000;
  await tunnels.sweep();
  assert.deepEqual(store.removals, [now.time - 24 * 60 * 60_000]);
});
