import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Postgres, postgresMissing, startPostgres } from "../../tests/kit.ts";
import { openStore, parsePostgresAddress, type Store } from "./mod.ts";

const drivers: Record<string, (run: (store: Store) => Promise<void>) => Promise<void>> = {
  "SQLite in memory": async (run) => await runWith(await openStore({ dataDir: null }), run),
  "SQLite in a file": (run) => withFolder(async (dir) => await runWith(await openStore({ dataDir: dir }), run)),
};

/** The test file's PostgreSQL, started by the first test that needs it. */
let cluster: Promise<Postgres> | undefined;

if (postgresMissing() === null) {
  drivers["PostgreSQL"] = async (run) => {
    const url = await (await (cluster ??= startPostgres())).createDatabase();
    await runWith(await openStore({ postgres: { address: parsePostgresAddress(url), maxConnections: 4 } }), run);
  };
  Deno.test.afterAll(async () => await (await cluster)?.[Symbol.asyncDispose]());
}

/** Defines a test that runs on a new store of each kind. */
export function testStores(name: string, run: (store: Store) => Promise<void>): void {
  for (const [driver, withStore] of Object.entries(drivers)) {
    // The first test starts the server that all tests in the file use.
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

/** Runs with a temporary folder. */
export async function withFolder(run: (dir: string) => Promise<void>): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "portway-store-"));
  try {
    await run(dir);
  } finally {
    rmSync(dir, { recursive: true });
  }
}
