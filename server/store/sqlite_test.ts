import { deepEqual, equal } from "node:assert/strict";
import { chmodSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import { openStore } from "./mod.ts";
import { readFileNumber } from "./sqlite.ts";
import { withFolder } from "./stores_kit_test.ts";

Deno.test({
  name: "SQLite in a file: nobody else may read it, wherever it lies",
  ignore: Deno.build.os === "windows",
  fn: () =>
    withFolder(async (dir) => {
      chmodSync(dir, 0o755);
      const store = await openStore({ dataDir: dir });
      const modes = readdirSync(dir).map((file) => [file, statSync(join(dir, file)).mode & 0o777]);
      deepEqual(modes.sort(), [["portway.db", 0o600], ["portway.db-shm", 0o600], ["portway.db-wal", 0o600]]);
      await store.close();
    }),
});

Deno.test("SQLite in a file: several servers may start at once, and what one kept is there for the next", () =>
  withFolder(async (dir) => {
    const module = JSON.stringify(new URL("./mod.ts", import.meta.url).href);
    const tunnel = { secretHash: "hash", createdAt: 1, expiresAt: 2, bytesUsed: 0, bytesLimit: 3 };
    const keep = (id: string) => `
      const store = await (await import(${module})).openStore({ dataDir: ${JSON.stringify(dir)} });
      await store.ephemeralTunnels.insert(${JSON.stringify({ ...tunnel, id, label: id })});
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
  }));

Deno.test("SQLite in a file: what is kept is on the disk itself, which on macOS has to be asked for", () =>
  withFolder(async (dir) => {
    const store = await openStore({ dataDir: dir });
    const read = async (name: string) =>
      Object.values((await sql`pragma ${sql.raw(name)}`.execute(store.db)).rows[0] as object);
    deepEqual(await Promise.all(["synchronous", "fullfsync", "checkpoint_fullfsync"].map(read)), [[2], [1], [1]]);
    await store.close();
  }));

Deno.test("readFileNumber tells a file from another of its name, and on Windows does not look", () =>
  withFolder((dir) => {
    const [path, other] = [join(dir, "a"), join(dir, "b")];
    for (const file of [path, other]) writeFileSync(file, "");
    for (const platform of ["linux", "darwin"]) {
      equal(readFileNumber(path, platform), statSync(path).ino);
      equal(readFileNumber(path, platform) === readFileNumber(other, platform), false);
    }
    rmSync(path);
    deepEqual(["linux", "win32"].map((platform) => readFileNumber(path, platform)), [-1, null]);
    return Promise.resolve();
  }));
