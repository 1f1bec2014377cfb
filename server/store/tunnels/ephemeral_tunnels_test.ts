import { deepEqual, equal, rejects } from "node:assert/strict";
import { type EphemeralTunnel, LabelTaken } from "../mod.ts";
import { testStores } from "../stores_kit_test.ts";

const TUNNEL: EphemeralTunnel = {
  id: "id-1",
  label: "abc",
  secretHash: "hash",
  createdAt: 1_700_000_000_000,
  expiresAt: 1_700_003_600_000,
  bytesUsed: 0,
  bytesLimit: 9_007_199_254_740_991,
};

testStores("an ephemeral tunnel is found by label and by id as it was kept", async ({ ephemeralTunnels }) => {
  await ephemeralTunnels.insert(TUNNEL);
  deepEqual(await ephemeralTunnels.findByLabel("abc"), TUNNEL);
  deepEqual(await ephemeralTunnels.findById("id-1"), TUNNEL);
  equal(await ephemeralTunnels.findByLabel("ABC' or 1=1 --"), null);
  equal(await ephemeralTunnels.findById("id-2"), null);
});

testStores("a label that is in use is refused by name", async ({ ephemeralTunnels }) => {
  await ephemeralTunnels.insert(TUNNEL);
  await rejects(ephemeralTunnels.insert({ ...TUNNEL, id: "id-2" }), LabelTaken);
  equal(await ephemeralTunnels.findById("id-2"), null);
});

testStores("traffic adds up, and unknown tunnels are passed over", async ({ ephemeralTunnels }) => {
  await ephemeralTunnels.insert(TUNNEL);
  await ephemeralTunnels.addTraffic([{ id: "id-1", bytes: 5 }, { id: "nobody", bytes: 7 }]);
  await Promise.all([1, 2, 3].map((bytes) => ephemeralTunnels.addTraffic([{ id: "id-1", bytes }])));
  equal((await ephemeralTunnels.findById("id-1"))?.bytesUsed, 11);
});

testStores(
  "simultaneous inserts stay within the limit of tunnels that have not expired",
  async ({ ephemeralTunnels }) => {
    await ephemeralTunnels.insert({ ...TUNNEL, id: "old", label: "old", expiresAt: TUNNEL.createdAt });
    const results = await Promise.allSettled(
      Array.from(
        { length: 12 },
        (_, at) => ephemeralTunnels.insert({ ...TUNNEL, id: `id-${at}`, label: `label-${at}` }, 5),
      ),
    );
    equal(
      results.filter(({ status }) => status === "fulfilled").length,
      5,
    );
  },
);

testStores("only tunnels that expired before the given time are removed and not counted", async (store) => {
  const { ephemeralTunnels } = store;
  await ephemeralTunnels.insert(TUNNEL);
  await ephemeralTunnels.insert({ ...TUNNEL, id: "id-2", label: "def", expiresAt: TUNNEL.expiresAt + 1 });
  equal(await ephemeralTunnels.count(TUNNEL.expiresAt), 1);
  equal(await ephemeralTunnels.removeExpired(TUNNEL.expiresAt + 1), 1);
  equal(await ephemeralTunnels.findById("id-1"), null);
  equal((await ephemeralTunnels.findById("id-2"))?.label, "def");
});
