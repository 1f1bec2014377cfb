import assert from "node:assert/strict";
import { silentLogger } from "../../../common/log.ts";
import { GoAwayReason } from "../../../protocol/mod.ts";
import type { EphemeralTraffic, EphemeralTunnel, EphemeralTunnels } from "../../store/mod.ts";
import { createContext, FakeSessionHandle } from "./_fake_session.ts";
import { Ephemeral } from "./ephemeral.ts";
import { EphemeralRegistry } from "./ephemeral_registry.ts";

const record: EphemeralTunnel = {
  id: "id",
  label: "label",
  secretHash: "",
  createdAt: 0,
  expiresAt: 1000,
  bytesUsed: 0,
  bytesLimit: 100,
};

function attach({ endpoint }: Ephemeral): FakeSessionHandle {
  const carrier = new FakeSessionHandle((ended) => endpoint.detach(ended));
  endpoint.attach(carrier);
  return carrier;
}

Deno.test("an ephemeral tunnel is open until its time or its traffic is over", () => {
  const clock = { time: 0 };
  const tunnel = new Ephemeral(record, createContext(clock));
  const refusal = () => tunnel.endpoint.findClosure()?.refuse();
  assert.equal(refusal(), undefined);
  clock.time = 999;
  assert.equal(refusal(), undefined);
  clock.time = 1000;
  assert.deepEqual([refusal()?.status, refusal()?.code], [410, "tunnel_expired"]);
  tunnel.endpoint.meter(100);
  assert.deepEqual([refusal()?.status, refusal()?.code], [410, "tunnel_traffic_exhausted"]);
});

Deno.test("Endpoint.meter ends the session the moment the traffic is used up", () => {
  const tunnel = new Ephemeral(record, createContext());
  const { ends } = attach(tunnel);
  tunnel.endpoint.meter(99);
  assert.deepEqual(ends, []);
  tunnel.endpoint.meter(1);
  assert.deepEqual([ends, tunnel.endpoint.connect()], [[GoAwayReason.exhausted], null]);
});

/** A store in memory that can be made to fail. */
function createStore() {
  const records = new Map<string, EphemeralTunnel>();
  const store = {
    records,
    failing: false,
    finds: 0,
    saved: [] as EphemeralTraffic[],
    removals: [] as number[],
    insert: (tunnel: EphemeralTunnel) => Promise.resolve(void records.set(tunnel.label, tunnel)),
    findByLabel(label: string) {
      store.finds++;
      return Promise.resolve(records.get(label) ?? null);
    },
    findById: (id: string) => Promise.resolve([...records.values()].find((known) => known.id === id) ?? null),
    addTraffic(traffic: readonly EphemeralTraffic[]) {
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

function open(clock = { time: 0 }) {
  const store = createStore();
  const errors: string[] = [];
  const log = { ...silentLogger, error: (event: string) => void errors.push(event) };
  return { clock, store, errors, registry: new EphemeralRegistry(store, createContext(clock), log) };
}

Deno.test("ephemeral tunnels are one object a record, however they are found", async () => {
  const { registry, store } = open();
  const added = await registry.add(record, 10);
  assert.equal(registry.endpoints.get("label")?.tunnel, added);
  assert.equal((await registry.findEndpoint("label"))?.tunnel, added);
  assert.equal(await registry.findById("id"), added);
  assert.equal(store.finds, 0);
  assert.equal(await registry.findEndpoint("other"), null);
  assert.equal(await registry.findById("other"), null);
});

Deno.test("two visitors who ask for a stored ephemeral tunnel at once get the same object", async () => {
  const { registry, store } = open();
  store.records.set("label", record);
  const [one, two] = await Promise.all([registry.findEndpoint("label"), registry.findEndpoint("label")]);
  assert.notEqual(one, null);
  assert.equal(one, two);
});

Deno.test("sweep stores traffic once, and what a failing store refused is stored later", async () => {
  const { registry, store, errors } = open();
  const tunnel = await registry.add(record, 10);
  tunnel.endpoint.meter(10);
  store.failing = true;
  await registry.sweep();
  assert.deepEqual([store.saved, errors], [[], ["traffic_not_saved"]]);
  store.failing = false;
  tunnel.endpoint.meter(5);
  await registry.sweep();
  await registry.sweep();
  assert.deepEqual(store.saved, [{ id: "id", bytes: 15 }]);
});

Deno.test("sweep ends expired tunnels, and forgets those that nobody uses once their traffic is stored", async () => {
  const { registry, store, clock } = open();
  const tunnel = await registry.add(record, 10);
  const { ends } = attach(tunnel);
  clock.time = 999;
  await registry.sweep();
  assert.deepEqual(ends, []);
  clock.time = 1000;
  await registry.sweep();
  assert.deepEqual(ends, [GoAwayReason.expired]);
  clock.time = 60_999;
  await registry.sweep();
  assert.equal(registry.endpoints.get("label")?.tunnel, tunnel);
  tunnel.endpoint.meter(1);
  store.failing = true;
  clock.time = 61_000;
  await registry.sweep();
  assert.equal(registry.endpoints.get("label")?.tunnel, tunnel, "its traffic is not stored");
  store.failing = false;
  await registry.sweep();
  assert.equal(registry.endpoints.get("label")?.tunnel, undefined);
});

Deno.test("sweep removes tunnels that expired a day ago, and a store that fails does not stop it", async () => {
  const { registry, store, clock, errors } = open({ time: 100_000_000 });
  store.failing = true;
  await registry.sweep();
  assert.deepEqual(errors, ["traffic_not_saved", "expired_not_removed"]);
  store.failing = false;
  clock.time += 10 * 60_000;
  await registry.sweep();
  assert.deepEqual(store.removals, [clock.time - 24 * 60 * 60_000]);
});
