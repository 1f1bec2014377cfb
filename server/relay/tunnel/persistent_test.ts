import { deepEqual, equal } from "node:assert/strict";
import { silentLogger } from "../../../common/log.ts";
import { GoAwayReason } from "../../../protocol/mod.ts";
import { openStore, type PersistentTunnel, StoreUnavailable } from "../../store/mod.ts";
import { createContext, FakeSessionHandle } from "./_fake_session.ts";
import type { Allowance } from "./allowance.ts";
import type { Persistent } from "./persistent.ts";
import { PersistentRegistry } from "./persistent_registry.ts";
import { KeptLogs, RequestLog } from "./request_log.ts";
import { UsageSaver } from "./usage_saver.ts";

const RECORD: PersistentTunnel = {
  id: "id",
  accountId: "account",
  userId: "ann",
  name: "app",
  label: "app-k3v9",
  defaultPort: 3000,
  allowedPorts: [3000, 8080],
  enabled: true,
  suspended: false,
  createdAt: 0,
};

const REQUEST = { at: 0, method: "GET", path: "/", status: 200, ms: 1, bytes: 10, port: 3000 };

/** The last second of a month, and of a year. */
const NEW_YEARS_EVE = Date.UTC(2026, 11, 31, 23, 59, 59);

async function open(clock = { time: NEW_YEARS_EVE }) {
  const store = await openStore({ dataDir: null });
  await store.persistentTunnels.insert(RECORD, 10);
  let isFailing = false;
  const usage = {
    ...store.usage,
    add: (report: Parameters<typeof store.usage.add>[0]) =>
      isFailing ? Promise.reject(new StoreUnavailable("disk full")) : store.usage.add(report),
  };
  const context = createContext(clock), low: Allowance[] = [];
  const registry = new PersistentRegistry({ store: store.persistentTunnels, usage, context, monthlyBytes: 1000 });
  const saver = new UsageSaver({
    usage,
    registry,
    now: context.now,
    onLow: (allowance) => low.push(allowance),
    log: silentLogger,
  });
  const tunnel = (await registry.findById("id"))!;
  return { store, registry, saver, tunnel, clock, low, fail: (is: boolean) => isFailing = is };
}

function attach(tunnel: Persistent, port: number): FakeSessionHandle {
  const endpoint = tunnel.endpointOf(port);
  const carrier = new FakeSessionHandle((ended) => endpoint.detach(ended));
  endpoint.attach(carrier);
  return carrier;
}

Deno.test("a persistent tunnel closes by suspension, switch, port and allowance, in this order", async () => {
  const { tunnel } = await open();
  const refusal = (port: number) => tunnel.endpointOf(port).findClosure()?.refuse();
  const codes = (port: number) => [refusal(port)?.status, refusal(port)?.code];
  deepEqual(codes(3000), [undefined, undefined]);
  deepEqual(codes(9000), [403, "port_not_allowed"]);
  tunnel.record = { ...RECORD, allowedPorts: "all" };
  deepEqual(codes(9000), [undefined, undefined]);
  tunnel.traffic.add(1000);
  deepEqual(codes(3000), [429, "allowance_exhausted"]);
  equal(refusal(3000)?.headers["retry-after"], "1");
  tunnel.record = { ...RECORD, enabled: false };
  deepEqual(codes(9000), [403, "tunnel_disabled"]);
  tunnel.record = { ...RECORD, enabled: false, suspended: true };
  deepEqual(codes(3000), [403, "tunnel_suspended"]);
});

Deno.test("PersistentRegistry finds endpoints by host, one object while they are carried", async () => {
  const { registry, tunnel } = await open();
  equal((await registry.findEndpoint("app-k3v9"))?.port, 3000);
  equal((await registry.findEndpoint("app-k3v9--8080"))?.port, 8080);
  for (const host of ["app", "app-k3v9--0", "app-k3v9--080", "app-k3v9--65536", "--3000", "", "app-k3v9--1--2"]) {
    equal(await registry.findEndpoint(host), null, host);
  }
  equal(registry.endpoints.get("app-k3v9"), undefined, "nobody carries it");
  attach(tunnel, 3000);
  const endpoint = await registry.findEndpoint("app-k3v9");
  deepEqual([registry.endpoints.get("app-k3v9"), await registry.findEndpoint("app-k3v9--3000")], [endpoint, endpoint]);
});

Deno.test("PersistentRegistry.apply ends what may not go on and leaves the rest", async () => {
  const { registry, tunnel } = await open();
  const [web, api] = [attach(tunnel, 3000), attach(tunnel, 8080)];
  await registry.apply({ ...RECORD, allowedPorts: [3000] });
  deepEqual([web.ends, api.ends], [[], [GoAwayReason.disabled]]);
  await registry.findEndpoint("app-k3v9");
  await registry.apply({ ...RECORD, defaultPort: 8080 });
  equal((await registry.findEndpoint("app-k3v9"))?.port, 8080);
  registry.drop("id");
  deepEqual([web.ends, registry.getById("id")], [[GoAwayReason.removed], undefined]);
});

Deno.test("an allowance that is used up ends every tunnel that lives on it, and no other", async () => {
  const { store, registry, tunnel } = await open();
  const others = [{ ...RECORD, id: "same", name: "b", label: "b" }, {
    ...RECORD,
    id: "other",
    name: "c",
    label: "c",
    userId: "bob",
  }];
  for (const record of others) await store.persistentTunnels.insert(record, 10);
  const carriers = [tunnel, (await registry.findById("same"))!, (await registry.findById("other"))!]
    .map((tunnel) => attach(tunnel, 3000));
  tunnel.traffic.add(999);
  deepEqual(carriers.map(({ ends }) => ends), [[], [], []]);
  tunnel.traffic.add(1);
  deepEqual(carriers.map(({ ends }) => ends), [[GoAwayReason.allowance], [GoAwayReason.allowance], []]);
});

Deno.test("UsageSaver stores each byte once, and what a failing store refused later", async () => {
  const { store, saver, tunnel, fail } = await open();
  tunnel.traffic.add(10);
  tunnel.requests.add(REQUEST);
  fail(true);
  await saver.save();
  equal(tunnel.isSaved, false);
  fail(false);
  tunnel.traffic.add(5);
  await saver.save();
  await saver.save();
  deepEqual(await store.usage.ofTunnel("id", ""), [{ day: "2026-12-31", bytes: 15, requests: 1 }]);
  deepEqual([tunnel.isSaved, tunnel.allowance.used], [true, 15]);
});

Deno.test("UsageSaver learns what other servers carried, warns once a month, and begins each month anew", async () => {
  const { store, saver, tunnel, clock, low } = await open();
  const user = { accountId: "account", userId: "ann" };
  await store.usage.add({ day: "2026-12-30", tunnels: [], users: [{ ...user, bytes: 790 }] });
  tunnel.traffic.add(10);
  await saver.save();
  deepEqual([tunnel.allowance.used, low.length], [800, 1]);
  tunnel.traffic.add(200);
  await saver.save();
  deepEqual([tunnel.endpointOf(3000).findClosure()?.refuse().code, low.length], ["allowance_exhausted", 1]);
  clock.time += 1000;
  await saver.save();
  deepEqual([tunnel.endpointOf(3000).findClosure(), tunnel.allowance.used], [null, 0]);
  tunnel.traffic.add(7);
  await saver.save();
  deepEqual([await store.usage.ofUser(user, "2026-12"), await store.usage.ofUser(user, "2027-01")], [1000, 7]);
});

Deno.test("PersistentRegistry.sweep forgets what nobody uses once it is stored", async () => {
  const { registry, saver, tunnel, clock } = await open();
  const carrier = attach(tunnel, 3000);
  clock.time += 100_000;
  registry.sweep();
  equal(registry.getById("id"), tunnel, "it is carried");
  carrier.end(GoAwayReason.closed);
  tunnel.traffic.add(1);
  clock.time += 100_000;
  registry.sweep();
  equal(registry.getById("id"), tunnel, "its traffic is not stored");
  await saver.save();
  registry.sweep();
  deepEqual([registry.getById("id"), [...registry.allowances()]], [undefined, []]);
});

Deno.test("PersistentRegistry.recentRequests returns requests after the tunnel has left memory, for a day", async () => {
  const { registry, saver, tunnel, clock } = await open();
  tunnel.requests.add(REQUEST);
  const forget = async () => {
    await saver.save();
    clock.time += 100_000;
    registry.sweep();
    equal(registry.getById("id"), undefined);
  };
  await forget();
  deepEqual(registry.recentRequests("id"), [REQUEST]);
  const loaded = (await registry.findById("id"))!;
  loaded.requests.add({ ...REQUEST, path: "/second" });
  deepEqual(registry.recentRequests("id").map(({ path }) => path), ["/second", "/"]);
  await forget();
  await registry.findById("id");
  registry.drop("id");
  deepEqual(registry.recentRequests("id"), [], "the tunnel was deleted");
});

Deno.test("KeptLogs removes the oldest logs when all of them need more than 8 MiB, or after a day", () => {
  const logs = new KeptLogs();
  const keep = (id: string, now: number) => {
    const log = new RequestLog();
    for (let count = 0; count < 100; count++) log.add({ ...REQUEST, path: "/".padEnd(5000, "a") });
    logs.keep(id, log, now);
  };
  for (let count = 0; count < 40; count++) keep(`id ${count}`, 0);
  deepEqual([logs.get("id 0"), logs.get("id 39")?.list().length], [undefined, 100]);
  keep("next day", 24 * 60 * 60 * 1000);
  deepEqual([logs.get("id 39"), logs.get("next day")?.list().length], [undefined, 100]);
  logs.keep("empty", new RequestLog(), 0);
  equal(logs.get("empty"), undefined);
});
