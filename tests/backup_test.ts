/** Copies of the embedded database, made while the server runs, and what a server makes of them. */
import assert from "node:assert/strict";
import { copyFile, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTempDir, runProgram, type Server, startServer, visit } from "./kit.ts";

interface Owned {
  id: string;
  secret: string;
}

const ARGS = ["--tunnels-per-minute", "1000000", "--max-tunnels", "1000000"];

async function makeTunnel(server: Server): Promise<Owned> {
  return await (await visit(`${server.url}/api/v1/tunnels/ephemeral`, { method: "POST" })).json() as Owned;
}

async function knows(server: Server, { id, secret }: Owned): Promise<boolean> {
  const headers = { authorization: `Bearer ${secret}` };
  return (await visit(`${server.url}/api/v1/tunnels/ephemeral/${id}`, { headers })).status === 200;
}

const backUp = (dataDir: string, file: string, ...args: string[]) =>
  runProgram({ entry: "cli.ts", args: ["server", "backup", "--data-dir", dataDir, file, ...args] });

Deno.test("a copy made under writes has all of before, and a server starts from it", async () => {
  await using folder = await makeTempDir();
  const file = join(folder.path, "copy.db"), restored = join(folder.path, "restored");
  const before: Owned[] = [], running = { is: true };
  {
    await using server = await startServer({ args: ARGS });
    for (let count = 0; count < 50; count++) before.push(await makeTunnel(server));
    const writers = [1, 2, 3].map(async () => {
      while (running.is) await makeTunnel(server);
    });
    const { code, output, errors } = await backUp(server.dataDir, file);
    running.is = false;
    await Promise.all(writers);
    assert.deepEqual([code, errors], [0, ""]);
    assert.match(output, /^Copied .*portway\.db to .*copy\.db, [\d.]+ kB\.$/);
    assert.equal((await server.health()).status, "ok");
  }
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.deepEqual(await readdir(folder.path), ["copy.db"]);

  await mkdir(restored);
  await copyFile(file, join(restored, "portway.db"));
  await using server = await startServer({ dataDir: restored, args: ARGS });
  for (const tunnel of before) assert.equal(await knows(server, tunnel), true);
  assert.equal(await knows(server, await makeTunnel(server)), true);
});

Deno.test("a backup never replaces a file, and leaves nothing of one that fails", async () => {
  await using folder = await makeTempDir();
  const data = join(folder.path, "data"), file = join(folder.path, "notes.db");
  await mkdir(data);
  await writeFile(file, "my notes");
  await writeFile(join(data, "portway.db"), "no database, and long enough to be taken for one".repeat(100));
  const there = await backUp(data, file);
  assert.deepEqual([there.code, there.errors], [1, `portway: ${file} already exists`]);
  assert.equal(await readFile(file, "utf8"), "my notes");
  const other = join(folder.path, "other.db");
  const broken = await backUp(data, other);
  assert.deepEqual([broken.code, broken.errors], [1, `portway: cannot write ${other}: file is not a database`]);
  assert.deepEqual((await readdir(folder.path)).sort(), ["data", "notes.db"]);
});

Deno.test("a backup of what is not embedded or not there is refused in a line", async () => {
  await using folder = await makeTempDir();
  const file = join(folder.path, "copy.db");
  const missing = await backUp(folder.path, file);
  assert.deepEqual([missing.code, missing.errors], [
    1,
    `portway: the database ${join(folder.path, "portway.db")} does not exist`,
  ]);
  const args = ["server", "backup", file];
  const env = { PORTWAY_DATABASE_URL: "postgres://me:secret@127.0.0.1/data" };
  const elsewhere = await runProgram({ entry: "cli.ts", args, env });
  assert.deepEqual([elsewhere.code, elsewhere.errors], [
    2,
    "portway: PORTWAY_DATABASE_URL: only the embedded database is copied; PostgreSQL has pg_dump for that",
  ]);
  assert.deepEqual(await readdir(folder.path), []);
});
