import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type SavedTunnel, SavedTunnels } from "./saved_tunnels.ts";

const tunnel = (id: string, expiresAt: number): SavedTunnel => ({
  id,
  secret: "s",
  url: `http://${id}.example`,
  expiresAt,
  server: "http://relay.example",
  embeddedPort: null,
  target: "http://localhost:3000",
  hostHeader: null,
});

async function withFolder(test: (folder: string) => void | Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "portway-saved-"));
  try {
    await test(join(folder, "config"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

Deno.test("SavedTunnels finds the newest that has not expired and that fits", () =>
  withFolder((folder) => {
    const saved = new SavedTunnels(folder);
    assert.equal(saved.findLast(0, () => true), null);
    for (const one of [tunnel("a", 100), tunnel("b", 50), tunnel("c", 100)]) saved.save(one, 0);
    assert.equal(saved.findLast(60, () => true)?.id, "c");
    assert.equal(saved.findLast(60, ({ id }) => id !== "c")?.id, "a");
    assert.equal(saved.findLast(100, () => true), null);
    saved.save(tunnel("a", 100), 0);
    assert.equal(new SavedTunnels(folder).findLast(0, () => true)?.id, "a", "saved again, so it is the newest");
    saved.remove("a");
    assert.equal(saved.findLast(0, () => true)?.id, "c");
  }));

Deno.test("SavedTunnels keeps secrets in a file for its owner alone, and nothing beside it", () =>
  withFolder((folder) => {
    new SavedTunnels(folder).save(tunnel("a", 100), 0);
    assert.deepEqual(readdirSync(folder), ["tunnels"]);
    const [file, ...others] = listFiles(folder);
    assert.deepEqual(others, []);
    if (process.platform === "win32") return;
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(statSync(join(folder, "tunnels")).mode & 0o777, 0o700);
  }));

Deno.test("SavedTunnels keeps no tunnel outside its folder, whatever the server calls it", () =>
  withFolder((folder) => {
    const saved = new SavedTunnels(folder);
    for (const id of ["../../outside", "a/b", "..", "\0", "x".repeat(10_000)]) {
      saved.save({ ...tunnel("a", 100), id }, 0);
      assert.equal(saved.findLast(0, () => true)?.id, id);
      saved.remove(id);
      assert.equal(saved.findLast(0, () => true), null);
    }
    assert.deepEqual([readdirSync(folder), listFiles(folder)], [["tunnels"], []]);
  }));

Deno.test("SavedTunnels keeps a limited number, the newest", () =>
  withFolder((folder) => {
    const saved = new SavedTunnels(folder);
    for (let count = 0; count < 30; count++) saved.save(tunnel(`t${count}`, 100), 0);
    assert.deepEqual(takeAll(saved), Array.from({ length: 20 }, (_, at) => `t${29 - at}`));
    assert.deepEqual(listFiles(folder), []);
  }));

Deno.test("SavedTunnels forgets what has expired", () =>
  withFolder((folder) => {
    const saved = new SavedTunnels(folder);
    saved.save(tunnel("a", 50), 0);
    saved.save(tunnel("b", 100), 60);
    assert.equal(listFiles(folder).length, 1);
  }));

Deno.test("SavedTunnels keeps the tunnels of clients that save at the same moment", () =>
  withFolder(async (folder) => {
    const ids = (client: number) => [0, 1, 2, 3, 4].map((count) => `t${client}${count}`);
    const clients = [0, 1, 2, 3];
    const script = fileURLToPath(new URL("./_save_many.ts", import.meta.url));
    const savers = clients.map((client) => {
      const tunnels = JSON.stringify(ids(client).map((id) => tunnel(id, 100)));
      const args = ["run", "-A", "--no-check", script, folder, tunnels];
      return spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
    });
    await Promise.all(savers.map(({ stdout }) => once(stdout, "data")));
    const ended = Promise.all(savers.map((saver) => once(saver, "exit")));
    for (const { stdin } of savers) stdin.end();
    assert.deepEqual(await ended, clients.map(() => [0, null]));
    assert.deepEqual(takeAll(new SavedTunnels(folder)).sort(), clients.flatMap(ids));
  }));

Deno.test("SavedTunnels finds nothing in a damaged file, and the next save removes it", () =>
  withFolder((folder) => {
    const saved = new SavedTunnels(folder);
    saved.save(tunnel("a", 100), 0);
    const [file] = listFiles(folder);
    const whole = JSON.parse(readFileSync(file, "utf8"));
    for (const text of ["", "{", "null", "{}", "[]", '{"id": "x"}']) {
      writeFileSync(file, text);
      assert.equal(saved.findLast(0, () => true), null, text);
    }
    const damages = [{ url: "" }, { server: "relay" }, { target: "3000" }, { hostHeader: "a\r\nb" }, {
      server: null,
      embeddedPort: 70_000,
    }];
    for (const damage of damages) {
      writeFileSync(file, JSON.stringify({ ...whole, ...damage }));
      assert.equal(saved.findLast(0, () => true), null, JSON.stringify(damage));
    }
    saved.save(tunnel("b", 100), 0);
    assert.deepEqual(takeAll(saved), ["b"]);
    assert(!existsSync(file));
  }));

function listFiles(folder: string): string[] {
  return readdirSync(join(folder, "tunnels")).map((name) => join(folder, "tunnels", name));
}

/** The ids of all that are kept, the newest first. Removes them. */
function takeAll(saved: SavedTunnels): string[] {
  const last = saved.findLast(0, () => true);
  if (last === null) return [];
  saved.remove(last.id);
  return [last.id, ...takeAll(saved)];
}
