import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Postgres, postgresMissing, startPostgres } from "../../tests/kit.ts";
import { openStore, parsePostgresAddress, type Store } from "./mod.ts";

const drivers: Record<string, (run: (store: Store) => Promise<void>) => Promise<void>> = {
  "SQLite in memory": async (run) => await runWith(await openStore({ dataDir: null }), run),
  "SQLite in a file": (run) => withFolder(async (dir) => await runWith(await openStore({ dataDir: dir }), run)),
};

/** The PostgreSQL of a test file: it starts when the first test needs it. */
let cluster: Promise<Postgres> | undefined;

if (postgresMissing() === null) {
  drivers["PostgreSQL"] = async (run) => {
    const url = await (await (cluster ??= startPostgres())).createDatabase();
    await runWith(await openStore({ postgres: { address: parsePostgresAddress(url), maxConnections: 4 } }), run);
  };
  Deno.test.afterAll(async () => await (await cluster)?.[Symbol.asyncDispose]());
}

/** A test of what every store does: it runs on each of them, fresh. */
export function testStores(name: string, run: (store: Store) => Promise<void>): void {
  for (const [driver, withStore] of Object.entries(drivers)) {
    // The first one starts what all of a file use.
    const sanitize = driver === "PostgreSQL" ? { sanitizeOps: false, sanitizeResources: false } : {};
    Deno.test({ name: `${driver}: ${name}`, ...sanitize, fn: () => withStore(run) });
  }
}

async function runWith(store: Store, run: (store: Store) => Promise<void>): Promise<void> {
  try {
    await run(store);
  } finally {
    await store.close();
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
