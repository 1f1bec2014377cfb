/**
 * Servers that share one database, and servers that are killed in the middle of it all: what was acknowledged is there,
 * and what was counted is off by no more than what a second carries.
 */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { makeToken, type ViewsServer, withUser } from "./views_kit.ts";
import { findFreePort } from "./kit/free_port.ts";
import {
  makeTempDir,
  postgresMissing,
  runProgram,
  type Server,
  startPostgres,
  startServer,
  startSite,
  startTunnel,
  visit,
} from "./kit.ts";

/** Each kind of database: where a server keeps things, as its options say. */
interface Place extends AsyncDisposable {
  dataDir: string;
  env: Record<string, string>;
}

const PLACES: Record<string, () => Promise<Place>> = {
  SQLite: async () => {
    const { path, [Symbol.asyncDispose]: dispose } = await makeTempDir();
    return { dataDir: path, env: {}, [Symbol.asyncDispose]: dispose };
  },
  PostgreSQL: async () => {
    await using stack = new AsyncDisposableStack();
    const postgres = stack.use(await startPostgres());
    const { path } = stack.use(await makeTempDir());
    const env = { PORTWAY_DATABASE_URL: await postgres.createDatabase() };
    const owned = stack.move();
    return { dataDir: path, env, [Symbol.asyncDispose]: () => owned.disposeAsync() };
  },
};

/** @param kinds of the databases it is true of */
function test(name: string, run: (place: Place) => Promise<void>, kinds = Object.keys(PLACES)): void {
  for (const kind of kinds) {
    const open = PLACES[kind];
    const ignore = kind === "PostgreSQL" && postgresMissing() !== null;
    Deno.test({
      name: `${kind}: ${name}`,
      ignore,
      async fn() {
        await using place = await open();
        await run(place);
      },
    });
  }
}

interface Owned {
  id: string;
  secret: string;
}

async function makeTunnel(server: Server): Promise<Owned> {
  const answer = await visit(`${server.url}/api/v1/tunnels/ephemeral`, { method: "POST" });
  assert.equal(answer.status, 201);
  return await answer.json() as Owned;
}

/** What a server knows of a tunnel: null when nothing. */
async function askFor(server: Server, { id, secret }: Owned): Promise<{ bytesUsed: number } | null> {
  const headers = { authorization: `Bearer ${secret}` };
  const answer = await visit(`${server.url}/api/v1/tunnels/ephemeral/${id}`, { headers });
  return answer.status === 200 ? await answer.json() as { bytesUsed: number } : null;
}

test(
  "servers that start at once on a fresh database make its tables once, and see each other's tunnels",
  async (place) => {
    await using stack = new AsyncDisposableStack();
    const servers = await Promise.all([1, 2, 3].map(async () => stack.use(await startServer(place))));
    const tunnels = await Promise.all(servers.map(makeTunnel));
    for (const server of servers) {
      for (const tunnel of tunnels) assert.notEqual(await askFor(server, tunnel), null);
      assert.equal((await server.health()).status, "ok");
      assert.doesNotMatch(server.errors.text, /error|failed/i);
    }
  },
  ["PostgreSQL"],
);

test(
  "a second server on a folder says so in one line, exit code 1, and starts once the first was killed",
  async (place) => {
    const first = await startServer(place);
    try {
      const args = ["server", "--port", "0", "--data-dir", place.dataDir];
      for (let count = 0; count < 2; count++) {
        const { code, output, errors } = await runProgram({ entry: "cli.ts", args });
        assert.deepEqual([code, output], [1, ""]);
        assert.match(
          errors,
          /^portway: cannot open the database .*: another running server uses this folder: [^\n]+$/,
        );
      }
      assert.equal((await first.health()).status, "ok");
    } finally {
      first.kill("SIGKILL");
      await first.ended;
    }
    await using second = await startServer(place);
    assert.equal((await second.health()).status, "ok");
  },
  ["SQLite"],
);

/** More of them by PORTWAY_TEST_KILLS. */
const KILLS = Number(process.env.PORTWAY_TEST_KILLS ?? 4);
/** What a server that is killed may lose of the traffic that it counted. */
const UNSAVED_MS = 1000;
const PLENTY = "1000000";
const ARGS = [
  ...["--tunnels-per-minute", PLENTY, "--max-tunnels", PLENTY, "--ephemeral-bytes", "1000000000000"],
  ...["--view-calls-per-minute", PLENTY, "--view-bytes", "16000000000000"],
];

test("a server that is killed under writes has lost nothing that it acknowledged", async (place) => {
  await using site = startSite();
  await using config = await makeTempDir();
  const port = findFreePort();
  const start = () => startServer({ ...place, port, args: ARGS });
  const token = await makeToken(place.env.PORTWAY_DATABASE_URL, place.dataDir);
  let server = await start();
  try {
    await using client = await startTunnel({ server, target: site, configDir: config.path });
    const carried = await readOwned(config.path);
    const size = await measureVisit(server, client.url, carried);
    const { captureUrl, id: viewId } = await withUser(server, token).addView();
    const acknowledged: Owned[] = [], captured: string[] = [];
    let calls = 0;
    // When each visit ended that the usage of before the last kill does not have.
    let visits = [performance.now()];
    let saved = 0, worstMs = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      await server.whenHealth(({ sessions }) => sessions === 1);
      const writers = [1, 2].map(() => repeat(async () => void acknowledged.push(await makeTunnel(server))));
      const callers = [1, 2].map(() =>
        repeat(async () => {
          const call = `/call-${++calls}`;
          if ((await visit(captureUrl + call, { method: "POST", body: call })).status === 200) captured.push(call);
        })
      );
      const visitor = repeat(async () => {
        await (await visit(visitUrl(client.url))).bytes();
        visits.push(performance.now());
      });
      await new Promise((resolve) => setTimeout(resolve, 100 + Math.random() * 2000));
      const killedAt = performance.now();
      server.kill("SIGKILL");
      await server.ended;
      await Promise.all([...writers, ...callers, visitor]);

      await using killed = server;
      void killed;
      server = await start();
      const usage = (await askFor(server, carried))?.bytesUsed ?? -1;
      const kept = Math.floor((usage - saved) / size);
      assert.ok(
        usage >= saved && kept <= visits.length + 1,
        `kill ${kill}: ${kept} of ${visits.length} visits counted`,
      );
      const lostMs = kept < visits.length ? killedAt - visits[kept] : 0;
      assert.ok(lostMs <= UNSAVED_MS, `kill ${kill}: ${lostMs} ms of traffic are lost`);
      worstMs = Math.max(worstMs, lostMs);
      [saved, visits] = [usage, []];
    }
    assert.ok(acknowledged.length > KILLS && captured.length > KILLS, "there were writes");
    const kept = await listCaptures(withUser(server, token), viewId);
    assert.deepEqual(captured.filter((call) => !kept.has(call)), [], `of ${captured.length} acknowledged calls`);
    assert.equal(await countLost(server, acknowledged), 0, `of ${acknowledged.length} acknowledged tunnels`);
    const lost = `usage lost of ${worstMs.toFixed()} ms at most`;
    const all = `${acknowledged.length} tunnels and ${captured.length} calls acknowledged`;
    process.stdout.write(`${KILLS} kills: ${all}, all there; ${lost}\n`);
  } finally {
    await server[Symbol.asyncDispose]();
  }
});

const visitUrl = (tunnelUrl: string) => `${tunnelUrl}/noise?size=3000&seed=1`;

/** What one visit adds to the usage. */
async function measureVisit(server: Server, tunnelUrl: string, owned: Owned): Promise<number> {
  const before = (await askFor(server, owned))?.bytesUsed ?? 0;
  await (await visit(visitUrl(tunnelUrl))).bytes();
  const after = (await askFor(server, owned))?.bytesUsed ?? 0;
  assert.ok(after - before > 3000);
  return after - before;
}

async function countLost(server: Server, tunnels: readonly Owned[]): Promise<number> {
  let lost = 0;
  const left = tunnels[Symbol.iterator]();
  await Promise.all([1, 2, 3, 4].map(async () => {
    for (const tunnel of left) if (await askFor(server, tunnel) === null) lost++;
  }));
  return lost;
}

/** The paths of all captured calls of a view, below its own. */
async function listCaptures({ ask }: Pick<ViewsServer, "ask">, viewId: string): Promise<Set<string>> {
  const paths = new Set<string>();
  for (let before = "";;) {
    const response = await ask(`/api/v1/views/${viewId}/captures?limit=500${before}`);
    const { captures, next } = await response.json() as { captures: { path: string }[]; next: number | null };
    for (const { path } of captures) paths.add(path.replace(/^.*(?=\/call-)/, ""));
    if (next === null || captures.length === 0) return paths;
    before = `&before=${next}`;
  }
}

/** Does it until it fails, as it does when the server has gone. */
async function repeat(act: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await act();
    } catch {
      return;
    }
  }
}

/** What the client keeps of its tunnel. */
async function readOwned(configDir: string): Promise<Owned> {
  const folder = join(configDir, "tunnels");
  const [file] = await readdir(folder);
  return JSON.parse(await readFile(join(folder, file), "utf8")) as Owned;
}
