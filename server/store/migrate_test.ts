import { deepEqual, equal, rejects } from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { migrate } from "./migrate.ts";
import { openStore } from "./mod.ts";
import { type Migration, MIGRATIONS } from "./schema/mod.ts";
import { testStores, withFolder } from "./stores_kit_test.ts";

const step = (name: string, run: Migration["run"] = () => Promise.resolve()): Migration => ({ name, run });

testStores("a step that is new runs once, after those that a database has", async ({ db, dialect }) => {
  const runs: string[] = [];
  const added = step("added", () => Promise.resolve(void runs.push("added")));
  await migrate(db, dialect, [added, ...MIGRATIONS]);
  await migrate(db, dialect, [added, ...MIGRATIONS]);
  deepEqual(runs, ["added"]);
  const done = await db.selectFrom("migrations").select("name").execute();
  deepEqual(new Set(done.map(({ name }) => name)), new Set([...MIGRATIONS.map(({ name }) => name), "added"]));
});

testStores("a step that fails leaves nothing of itself, nor of those before it", async ({ db, dialect }) => {
  const makesTable = step("makes", (db) => db.schema.createTable("made").addColumn("id", "text").execute());
  const fails = step("fails", () => Promise.reject(new Error("no such luck")));
  await rejects(migrate(db, dialect, [...MIGRATIONS, makesTable, fails]), /no such luck/);
  await migrate(db, dialect, [...MIGRATIONS, makesTable]);
});

testStores("a database with a step that this server does not know is refused", async ({ db, dialect }) => {
  await migrate(db, dialect, [...MIGRATIONS, step("of tomorrow")]);
  await rejects(migrate(db, dialect), /a newer version created it \(schema of tomorrow\)/);
});

testStores("a database whose number is newer is refused and left as it is", async ({ db, dialect }) => {
  await db.updateTable("schema_version").set({ version: 999 }).execute();
  await rejects(migrate(db, dialect), /a newer version created it \(schema 999\)/);
  deepEqual(
    await db.selectFrom("schema_version").selectAll().execute().then((rows) => rows.map((row) => row.version)),
    [
      999,
    ],
  );
});

Deno.test("a database of before steps had names is taken over with its tunnels", () =>
  withFolder(async (dir) => {
    const file = new DatabaseSync(join(dir, "portway.db"));
    file.exec(`
      create table schema_version (version integer not null);
      create table ephemeral_tunnels (
        id text primary key, label text not null unique, secret_hash text not null, created_at bigint not null,
        expires_at bigint not null, bytes_used bigint not null default 0, bytes_limit bigint not null
      );
      create index ephemeral_tunnels_expiry on ephemeral_tunnels (expires_at);
      insert into schema_version values (1);
      insert into ephemeral_tunnels values ('id-1', 'abc', 'hash', 1, 2, 3, 4);
    `);
    file.close();
    for (const _start of [1, 2]) {
      const store = await openStore({ dataDir: dir });
      equal((await store.ephemeralTunnels.findByLabel("abc"))?.bytesUsed, 3);
      await store.close();
    }
  }));

Deno.test("SQLite in a file: a database of a newer version is refused in one line", () =>
  withFolder(async (dir) => {
    await (await openStore({ dataDir: dir })).close();
    const file = new DatabaseSync(join(dir, "portway.db"));
    file.exec("update schema_version set version = 999");
    file.close();
    await rejects(openStore({ dataDir: dir }), /^Error: cannot open the database .*: a newer version created it/);
  }));
