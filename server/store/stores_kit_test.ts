import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore, type Store } from "./mod.ts";

const drivers: Record<string, (dir: string) => Promise<Store>> = {
  "SQLite in memory": () => openStore({ dataDir: null }),
  "SQLite in a file": (dir) => openStore({ dataDir: dir }),
};

/** A test of what every store does: it runs on each of them, fresh. */
export function testStores(name: string, run: (store: Store) => Promise<void>): void {
  for (const [driver, open] of Object.entries(drivers)) {
    Deno.test(`${driver}: ${name}`, () =>
      withFolder(async (dir) => {
        const store = await open(dir);
        try {
          await run(store);
        } finally {
          await store.close();
        }
      }));
  }
}

/** Runs with a folder that is removed afterwards. */
export async function withFolder(run: (dir: string) => Promise<void>): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "portway-store-"));
  try {
    await run(dir);
  } finally {
    rmSync(dir, { recursive: true });
  }
}
