import { deepEqual, equal, rejects } from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type EphemeralTunnel, LabelTaken, openStore, type Store } from "./mod.ts";

const TUNNEL: EphemeralTunnel = {
  id: "id-1",
  label: "abc",
  secretHash: "hash",
  createdAt: 1_700_000_000_000,
  expiresAt: 1_700_003_600_000,
  bytesUsed: 0,
  bytesLimit: 9_007_199_254_740_991,
};

const drivers: Record<string, (dir: string) => Promise<Store>> = {
  "SQLite in memory": () => openStore({ dataDir: null }),
  "SQLite in a file": (dir) => openStore({ dataDir: dir }),
};

for (const [driver, open] of Object.entries(drivers)) {
  const withStore = (name: string, run: (store: Store) => Promise<void>) =>
    Deno.test(`${driver}: ${name}`, async () => {
      const dir = mkdtempSync(join(tmpdir(), "portway-store-"));
      const store = await open(dir);
      try {
        await run(store);
      } finally {
        await store.close();
        rmSync(dir, { recursive: true });
      }
    });

  withStore("an ephemeral tunnel is found by label and by id as it was kept", async ({ ephemeralTunnels }) => {
    await ephemeralTunnels.insert(TUNNEL);
    deepEqual(await ephemeralTunnels.findByLabel("abc"), TUNNEL);
    deepEqual(await ephemeralTunnels.findById("id-1"), TUNNEL);
    equal(await ephemeralTunnels.findByLabel("ABC' or 1=1 --"), null);
    equal(await ephemeralTunnels.findById("id-2"), null);
  });

  withStore("a label that is in use is refused by name", async ({ ephemeralTunnels }) => {
    await ephemeralTunnels.insert(TUNNEL);
    await rejects(ephemeralTunnels.insert({ ...TUNNEL, id: "id-2" }), LabelTaken);
    equal(await ephemeralTunnels.findById("id-2"), null);
  });

  withStore("traffic adds up, and unknown tunnels are passed over", async ({ ephemeralTunnels }) => {
    await ephemeralTunnels.insert(TUNNEL);
    await ephemeralTunnels.addTraffic([{ id: "id-1", bytes: 5 }, { id: "nobody", bytes: 7 }]);
    await Promise.all([1, 2, 3].map((bytes) => ephemeralTunnels.addTraffic([{ id: "id-1", bytes }])));
    equal((await ephemeralTunnels.findById("id-1"))?.bytesUsed, 11);
  });

  withStore("only tunnels that expired before the given time are removed", async ({ ephemeralTunnels }) => {
    await ephemeralTunnels.insert(TUNNEL);
    await ephemeralTunnels.insert({ ...TUNNEL, id: "id-2", label: "def", expiresAt: TUNNEL.expiresAt + 1 });
    equal(await ephemeralTunnels.removeExpired(TUNNEL.expiresAt + 1), 1);
    equal(await ephemeralTunnels.findById("id-1"), null);
    equal((await ephemeralTunnels.findById("id-2"))?.label, "def");
  });
}

Deno.test("SQLite in a file: several servers may start at once, and what one kept is there for the next", async () => {
  const dir = mkdtempSync(join(tmpdir(), "portway-store-"));
  const module = JSON.stringify(new URL("./mod.ts", import.meta.url).href);
  const keep = (id: string) => `
    const store = await (await import(${module})).openStore({ dataDir: ${JSON.stringify(dir)} });
    await store.ephemeralTunnels.insert({ ...${JSON.stringify(TUNNEL)}, id: "${id}", label: "${id}" });
    await store.close();`;
  const ids = ["first", "second", "third"];
  const exits = await Promise.all(
    ids.map((id) =>
      new Deno.Command(Deno.execPath(), { args: ["eval", "--no-check", keep(id)], stdin: "null" }).output()
    ),
  );
  deepEqual(exits.map(({ success, stderr }) => success ? "" : new TextDecoder().decode(stderr)), ["", "", ""]);
  const store = await openStore({ dataDir: dir });
  for (const id of ids) equal((await store.ephemeralTunnels.findById(id))?.label, id);
  await store.close();
  rmSync(dir, { recursive: true });
});

Deno.test("SQLite in a file: a database of a newer version is refused and left as it is", async () => {
  const dir = mkdtempSync(join(tmpdir(), "portway-store-"));
  await (await openStore({ dataDir: dir })).close();
  const file = new DatabaseSync(join(dir, "portway.db"));
  file.exec("update schema_version set version = 999");
  file.close();
  await rejects(openStore({ dataDir: dir }), /made by a newer version/);
  rmSync(dir, { recursive: true });
});
