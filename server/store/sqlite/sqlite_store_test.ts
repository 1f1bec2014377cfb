import { deepEqual, equal, rejects } from "node:assert/strict";
import { chmodSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import { backUp, openStore } from "../mod.ts";
import { readFileNumber } from "./sqlite_store.ts";
import { withFolder } from "../stores_kit_test.ts";

const MODULE = new URL("../mod.ts", import.meta.url).href;

/** Runs code in its own process. */
async function evaluate(code: string): Promise<{ success: boolean; stderr: string }> {
  const command = new Deno.Command(Deno.execPath(), { args: ["eval", "--no-check", code], stdin: "null" });
  const { success, stderr } = await command.output();
  return { success, stderr: new TextDecoder().decode(stderr) };
}

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
    const tunnel = { secretHash: "hash", createdAt: 1, expiresAt: 2, bytesUsed: 0, bytesLimit: 3 };
    const keep = (id: string) => `
      const store = await (await import("${MODULE}")).openStore({ dataDir: ${JSON.stringify(dir)} });
      await store.ephemeralTunnels.insert(${JSON.stringify({ ...tunnel, id, label: id })});
      await store.close();`;
    const ids = ["first", "second", "third"];
    const exits = await Promise.all(ids.map((id) => evaluate(keep(id))));
    deepEqual(exits.map(({ success, stderr }) => success ? "" : stderr), ["", "", ""]);
    const store = await openStore({ dataDir: dir });
    for (const id of ids) equal((await store.ephemeralTunnels.findById(id))?.label, id);
    await store.close();
  }));

Deno.test("SQLite in a file: a folder that one has alone, another may copy and share and cannot have alone", () =>
  withFolder(async (dir) => {
    const alone = { dataDir: dir, isAlone: true };
    const store = await openStore(alone);
    // The loop shows that a refused claim does not release the first one's lock.
    for (let count = 0; count < 2; count++) {
      await rejects(openStore(alone), /portway\.db: another running server uses this folder: .*--data-dir$/);
      const { success, stderr } = await evaluate(
        `await (await import("${MODULE}")).openStore(${JSON.stringify(alone)})`,
      );
      deepEqual([success, /another running server uses this folder/.test(stderr)], [false, true]);
    }
    equal(backUp(dir, join(dir, "copy.db")).bytes > 0, true);
    await (await openStore({ dataDir: dir })).close();
    await store.close();
    await (await openStore(alone)).close();
    deepEqual(readdirSync(dir).sort(), ["copy.db", "portway.db", "portway.lock"]);
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
