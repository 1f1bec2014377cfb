/** Programs that die and networks that break under load: the URL stays, nothing crashes, nothing is left behind. */
import assert from "node:assert/strict";
import {
  createNoise,
  hashOf,
  makeTempDir,
  type Server,
  startServer,
  startSite,
  startTcpRelay,
  startTunnel,
  visit,
} from "./kit.ts";

/** Visitors who never stop. Counts what they got; whatever they got is right or a proper error. */
interface Load {
  /** Resolves after that many more good answers. */
  good(count: number): Promise<void>;
  stop(): Promise<{ good: number; refused: number; broken: number }>;
}

const VISITORS = 8;

function startLoad(url: string): Load {
  const counts = { good: 0, refused: 0, broken: 0 };
  const faults: string[] = [];
  let running = true;
  let wake: (() => void) | null = null;

  async function once(seed: number): Promise<void> {
    try {
      const size = 1000 + (seed * 7919) % 300_000;
      const answer = await visit(`${url}/noise?size=${size}&seed=${seed}`);
      if (answer.status !== 200) {
        await answer.bytes();
        counts.refused++;
        if (answer.headers["portway-error"] === undefined) faults.push(`status ${answer.status} that is not ours`);
        return;
      }
      if (await hashOf(answer.body) !== await hashOf(createNoise(size, seed))) faults.push("a wrong body");
      counts.good++;
      wake?.();
    } catch {
      // The connection was refused or cut, which is what this is about.
      counts.broken++;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  const visitors = Array.from({ length: VISITORS }, async (_, visitor) => {
    for (let turn = 0; running; turn++) await once(visitor * 1000 + turn);
  });
  return {
    async good(count) {
      for (const wanted = counts.good + count; counts.good < wanted;) {
        await new Promise<void>((resolve) => wake = resolve);
      }
    },
    async stop() {
      running = false;
      await Promise.all(visitors);
      assert.deepEqual(faults, []);
      return counts;
    },
  };
}

const QUICK = ["--tunnels-per-minute", "1000"];

/** Nothing is open: no request in flight was lost count of. */
const whenQuiet = (server: Server) => server.whenHealth(({ sessions, streams }) => sessions === 1 && streams === 0);

for (const listener of ["edge", "deno"]) {
  Deno.test(`a relay that is killed and started again under load carries the same tunnels on (${listener})`, async () => {
    await using site = startSite();
    await using data = await makeTempDir();
    const start = (port = 0) => startServer({ port, dataDir: data.path, args: [...QUICK, "--listener", listener] });
    await using first = await start();
    await using tunnel = await startTunnel({ server: first, target: site });
    const load = startLoad(tunnel.url);
    await load.good(20);
    first.kill("SIGKILL");
    await first.ended;
    await tunnel.events.waitFor("reconnecting");
    await using second = await start(first.port);
    await tunnel.events.waitFor("reconnected");
    await load.good(20);
    await load.stop();
    await whenQuiet(second);
    assert.doesNotMatch(second.errors.text, /error .*failed|\n {4}at /);
    assert.equal((await tunnel.stop()).code, 0);
  });
}

Deno.test("a client that is killed comes back by --resume: same URL, what is left of the time", async () => {
  await using site = startSite();
  await using server = await startServer({ args: QUICK });
  await using config = await makeTempDir();
  await using first = await startTunnel({ server, target: site, configDir: config.path });
  const load = startLoad(first.url);
  await load.good(20);
  first.kill("SIGKILL");
  await first.ended;
  await using second = await startTunnel({ server, configDir: config.path, args: ["--resume"] });
  assert.deepEqual(
    [second.url, second.id, second.opened.expiresAt, second.opened.target],
    [first.url, first.id, first.opened.expiresAt, first.opened.target],
  );
  await load.good(20);
  await load.stop();
  await whenQuiet(server);
  assert.equal((await second.stop()).code, 0);
  await using third = await startTunnel({ configDir: config.path, args: ["--resume"] });
  assert.equal(third.url, first.url);
});

Deno.test("a network that is cut for 10 s: the session goes on, or comes back under the same URL", async () => {
  await using site = startSite();
  await using server = await startServer({ args: QUICK });
  await using network = await startTcpRelay(server.port);
  await using tunnel = await startTunnel({ server: `http://localhost:${network.port}`, target: site });
  const load = startLoad(tunnel.url);
  await load.good(20);
  network.cut("silent");
  // The length of the cut is what this is about.
  await new Promise((resolve) => setTimeout(resolve, 10_000));
  network.mend();
  await load.good(20);
  await load.stop();
  await whenQuiet(server);
  assert.equal((await tunnel.stop()).code, 0);
});

Deno.test("connections that are reset: the client comes back under the same URL", async () => {
  await using site = startSite();
  await using server = await startServer({ args: QUICK });
  await using network = await startTcpRelay(server.port);
  await using tunnel = await startTunnel({ server: `http://localhost:${network.port}`, target: site });
  const load = startLoad(tunnel.url);
  for (let i = 0; i < 3; i++) {
    await load.good(20);
    network.cut("reset");
    await tunnel.events.waitFor("reconnecting");
    network.mend();
    await tunnel.events.waitFor("reconnected");
  }
  await load.good(20);
  await load.stop();
  await whenQuiet(server);
});

Deno.test("SIGTERM: what is in flight is finished, the client is told and comes back to the restarted server", async () => {
  await using site = startSite();
  await using data = await makeTempDir();
  await using first = await startServer({ dataDir: data.path });
  await using tunnel = await startTunnel({ server: first, target: site });
  const stream = await visit(`${tunnel.url}/events`);
  const pieces = stream.body[Symbol.asyncIterator]();
  await pieces.next();
  first.kill("SIGTERM");
  const { reason } = await tunnel.events.waitFor("reconnecting");
  assert.match(String(reason), /restart/);
  // Nobody could use a tunnel that was made now.
  assert.equal((await visit(`${first.url}/api/v1/tunnels/ephemeral`, { method: "POST" })).status, 503);
  site.release();
  assert.equal(new TextDecoder().decode((await pieces.next()).value), "data: second\n\n");
  assert((await pieces.next()).done);
  assert.equal((await first.ended).code, 0);
  await using second = await startServer({ dataDir: data.path, port: first.port });
  await tunnel.events.waitFor("reconnected");
  assert.equal(await (await visit(`${tunnel.url}/text`)).text(), "hello");
  await whenQuiet(second);
});

Deno.test("SIGTERM: what never ends is cut when the time for it is over", async () => {
  await using site = startSite();
  await using server = await startServer({ args: ["--drain-seconds", "1"] });
  await using tunnel = await startTunnel({ server, target: site });
  const stream = await visit(`${tunnel.url}/events`);
  server.kill("SIGTERM");
  assert.equal((await server.ended).code, 0);
  await assert.rejects(stream.bytes());
});

Deno.test("a second client of the same owner takes the tunnel over, and the first is told why", async () => {
  await using site = startSite();
  await using other = startSite();
  await using server = await startServer();
  await using config = await makeTempDir();
  await using first = await startTunnel({ server, target: site, configDir: config.path });
  await using second = await startTunnel({ server, target: other, configDir: config.path, args: ["--resume"] });
  assert.equal(second.url, first.url);
  const { code, summary } = await first.whenOver();
  assert.equal(code, 0);
  assert.match(String(summary.reason), /taken this tunnel over/);
  await visit(`${second.url}/text`);
  await other.log.waitFor("open /text");
  await whenQuiet(server);
});
