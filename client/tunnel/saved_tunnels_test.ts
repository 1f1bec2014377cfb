import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { type SavedTunnel, SavedTunnels } from "./saved_tunnels.ts";

const tunnel = (id: string, expiresAt: number): SavedTunnel => ({
  id,
  secret: "s",
  url: `http://${id}.example`,
  expiresAt,
  server: "http://relay.example",
  embeddedPort: null,
  target: "http://localhost:3000",
});

function withFolder(test: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), "portway-saved-"));
  try {
    test(join(folder, "config"));
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
    assert.deepEqual(readdirSync(folder), ["tunnels.json"]);
    if (process.platform !== "win32") assert.equal(statSync(join(folder, "tunnels.json")).mode & 0o777, 0o600);
  }));

Deno.test("SavedTunnels keeps a limited number, the newest", () =>
  withFolder((folder) => {
    const saved = new SavedTunnels(folder);
    for (let count = 0; count < 30; count++) saved.save(tunnel(`t${count}`, 100), 0);
    const kept = JSON.parse(readFileSync(join(folder, "tunnels.json"), "utf8")) as SavedTunnel[];
    assert.deepEqual([kept.length, kept[0].id, kept.at(-1)?.id], [20, "t10", "t29"]);
  }));

Deno.test("SavedTunnels takes a damaged file for an empty one, and writes it anew", () =>
  withFolder((folder) => {
    const saved = new SavedTunnels(folder);
    saved.save(tunnel("a", 100), 0);
    for (const text of ["", "{", "null", "{}", '[null, 1, {"id": "x"}]']) {
      writeFileSync(join(folder, "tunnels.json"), text);
      assert.equal(saved.findLast(0, () => true), null, text);
    }
    const damages = [{ url: "" }, { server: "relay" }, { target: "3000" }, { server: null, embeddedPort: 70_000 }];
    for (const damage of damages) {
      writeFileSync(join(folder, "tunnels.json"), JSON.stringify([{ ...tunnel("a", 100), ...damage }]));
      assert.equal(saved.findLast(0, () => true), null, JSON.stringify(damage));
    }
    saved.save(tunnel("b", 100), 0);
    assert.equal(saved.findLast(0, () => true)?.id, "b");
  }));
