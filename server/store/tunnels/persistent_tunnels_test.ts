import { deepEqual, equal, rejects } from "node:assert/strict";
import { LabelTaken, NameTaken, type PersistentTunnel, TooManyTunnels } from "../mod.ts";
import { testStores } from "../stores_kit_test.ts";

const TUNNEL: PersistentTunnel = {
  id: "id-1",
  accountId: "account-1",
  userId: "user-1",
  name: "app",
  label: "app-k3v9",
  defaultPort: 3000,
  allowedPorts: [3000, 8080],
  enabled: true,
  suspended: false,
  createdAt: 1_700_000_000_000,
};

testStores("a persistent tunnel is found by id, by label and in its account as it was kept", async (store) => {
  const { persistentTunnels } = store;
  await persistentTunnels.insert(TUNNEL, 10);
  const other = { ...TUNNEL, id: "id-2", name: "api", label: "api-x", allowedPorts: "all" as const, enabled: false };
  await persistentTunnels.insert(other, 10);
  deepEqual(await persistentTunnels.findById("id-1"), TUNNEL);
  deepEqual(await persistentTunnels.findByLabel("api-x"), other);
  deepEqual(await persistentTunnels.list("account-1"), [other, TUNNEL]);
  deepEqual(await persistentTunnels.findByIds(["id-1", "nobody"]), [TUNNEL]);
  deepEqual([await persistentTunnels.findById("app"), await persistentTunnels.findByLabel("app")], [null, null]);
  deepEqual([await persistentTunnels.list("account-2"), await persistentTunnels.findByIds([])], [[], []]);
});

testStores("a label in use, a name of the account's own and one tunnel too many are refused by name", async (store) => {
  const { persistentTunnels } = store;
  await persistentTunnels.insert(TUNNEL, 10);
  const another = { ...TUNNEL, id: "id-2" };
  await rejects(persistentTunnels.insert({ ...another, name: "other" }, 10), LabelTaken);
  await rejects(persistentTunnels.insert({ ...another, label: "other" }, 10), NameTaken);
  await rejects(persistentTunnels.insert({ ...another, name: "other", label: "other" }, 1), TooManyTunnels);
  await persistentTunnels.insert({ ...another, label: "other", accountId: "account-2" }, 1);
  equal((await persistentTunnels.list("account-1")).length, 1);
});

testStores("a change changes what it names and nothing else", async ({ persistentTunnels }) => {
  await persistentTunnels.insert(TUNNEL, 10);
  await persistentTunnels.insert({ ...TUNNEL, id: "id-2", name: "b", label: "b" }, 10);
  const changed = await persistentTunnels.update("id-1", { enabled: false, allowedPorts: "all" });
  deepEqual(changed, { ...TUNNEL, enabled: false, allowedPorts: "all" });
  deepEqual(await persistentTunnels.findById("id-1"), changed);
  deepEqual((await persistentTunnels.update("id-1", { suspended: true, userId: "user-2" }))?.userId, "user-2");
  equal((await persistentTunnels.findById("id-2"))?.suspended, false);
  equal((await persistentTunnels.update("id-2", {}))?.name, "b");
  equal(await persistentTunnels.update("nobody", { enabled: true }), null);
});

testStores("all tunnels are listed a page at a time, and found by parts of names", async ({ persistentTunnels }) => {
  for (let count = 0; count < 5; count++) {
    const name = `app${count}`;
    await persistentTunnels.insert({ ...TUNNEL, id: name, name, label: `${name}-x`, createdAt: count }, 10);
  }
  const page = await persistentTunnels.listAll("", 1, 2);
  deepEqual([page.tunnels.map(({ id }) => id), page.total], [["app3", "app2"], 5]);
  deepEqual((await persistentTunnels.listAll("pp4", 0, 10)).tunnels.map(({ id }) => id), ["app4"]);
  deepEqual(await persistentTunnels.listAll("app_", 0, 10), { tunnels: [], total: 0 });
  deepEqual((await persistentTunnels.listAll("%", 0, 10)).total, 0);
});

const USER = { accountId: "account-1", userId: "user-1" };

testStores("usage adds up by day and by month, and tells each user's total", async ({ usage }) => {
  const report = { day: "2026-11-22", tunnels: [{ id: "a", bytes: 5, requests: 1 }], users: [{ ...USER, bytes: 5 }] };
  deepEqual(await usage.add(report), [5]);
  deepEqual(await usage.add({ ...report, tunnels: [...report.tunnels, { id: "b", bytes: 1, requests: 0 }] }), [10]);
  const [first, second] = await usage.add({
    day: "2026-11-23",
    tunnels: [{ id: "a", bytes: 7, requests: 2 }],
    users: [{ accountId: "z", userId: "y", bytes: 1 }, { ...USER, bytes: 7 }],
  });
  deepEqual([first, second], [1, 17]);
  await usage.add({ day: "2026-12-01", tunnels: [], users: [{ ...USER, bytes: 3 }] });
  deepEqual([await usage.ofUser(USER, "2026-11"), await usage.ofUser(USER, "2026-12")], [17, 3]);
  equal(await usage.ofUser({ ...USER, accountId: "account-2" }, "2026-11"), 0);
  const days = [{ day: "2026-11-22", bytes: 10, requests: 2 }, { day: "2026-11-23", bytes: 7, requests: 2 }];
  deepEqual(await usage.ofTunnel("a", "2026-11-22"), days);
  deepEqual(await usage.ofTunnel("a", "2026-11-23"), days.slice(1));
  deepEqual(await usage.ofAll("2026-11-22"), [{ day: "2026-11-22", bytes: 11, requests: 2 }, days[1]]);
  equal(await usage.removeBefore("2026-11-23"), 2);
  deepEqual(await usage.ofTunnel("a", "2026-01-01"), days.slice(1));
});

testStores("large reports are kept whole, beyond what one statement takes", async ({ usage }) => {
  const tunnels = Array.from({ length: 1501 }, (_, at) => ({ id: `t${at}`, bytes: at, requests: 1 }));
  const users = Array.from({ length: 501 }, (_, at) => ({ accountId: "a", userId: `u${at}`, bytes: at }));
  equal((await usage.add({ day: "2026-11-22", tunnels, users })).at(-1), 500);
  deepEqual(await usage.ofTunnel("t1500", "2026-11-22"), [{ day: "2026-11-22", bytes: 1500, requests: 1 }]);
});

testStores("a tunnel that is removed takes its days with it, and not its user's month", async (store) => {
  const { persistentTunnels, usage } = store;
  await persistentTunnels.insert(TUNNEL, 10);
  await usage.add({
    day: "2026-11-22",
    tunnels: [{ id: "id-1", bytes: 5, requests: 1 }],
    users: [{ ...USER, bytes: 5 }],
  });
  deepEqual([await persistentTunnels.remove("id-1"), await persistentTunnels.remove("id-1")], [true, false]);
  deepEqual([await persistentTunnels.findById("id-1"), await usage.ofTunnel("id-1", "")], [null, []]);
  equal(await usage.ofUser(USER, "2026-11"), 5);
});
