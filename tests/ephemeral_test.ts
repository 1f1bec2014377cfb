/** Ephemeral tunnels end: by time, by traffic, and nobody makes too many of them. */
import assert from "node:assert/strict";
import {
  makeTempDir,
  openSocket,
  runProgram,
  type Server,
  startServer,
  startSite,
  startSocketService,
  startTunnel,
  visit,
} from "./kit.ts";

/** Over, for every transport, and for its owner. */
async function assertGone(url: string, code: string): Promise<void> {
  for (const method of ["GET", "POST", "HEAD", "OPTIONS"]) {
    const answer = await visit(url, { method });
    assert.deepEqual([answer.status, answer.headers["portway-error"]], [410, code], method);
    await answer.bytes();
  }
  await assert.rejects(openSocket(`${url}/ws`), /410/);
}

const LIMIT = 2_000_000;

for (
  const [direction, move] of [
    ["down", async (url: string) => void await (await visit(`${url}/noise?size=50000000`)).bytes()],
    [
      "up",
      async (url: string) => void await (await visit(`${url}/upload`, { body: new Uint8Array(50_000_000) })).bytes(),
    ],
  ] as const
) {
  Deno.test(`traffic ${direction} ends in the middle of a body when the limit is reached, and 410 follows`, async () => {
    await using site = startSite();
    await using server = await startServer({ args: ["--ephemeral-bytes", String(LIMIT)] });
    await using config = await makeTempDir();
    await using tunnel = await startTunnel({ server, target: site, configDir: config.path });
    assert.equal(await (await visit(`${tunnel.url}/text`)).text(), "hello");
    await move(tunnel.url).catch(() => {});
    const { code, summary } = await tunnel.whenOver();
    assert.equal(code, 0);
    assert.match(String(summary.reason), /traffic/);
    assert(summary.requests >= 1 && summary.bytes < 3 * LIMIT, JSON.stringify(summary));
    await assertGone(tunnel.url, "tunnel_traffic_exhausted");
    await assertResumeRefused(server, config.path, /used up/);
    await server.whenHealth(({ sessions, streams }) => sessions === 0 && streams === 0);
  });
}

Deno.test("traffic of WebSockets counts too, and their visitors see them close", async () => {
  await using service = await startSocketService();
  await using server = await startServer({ args: ["--ephemeral-bytes", String(LIMIT)] });
  await using tunnel = await startTunnel({ server, target: service });
  await using quiet = await openSocket(`${tunnel.url}/ws`);
  await using socket = await openSocket(`${tunnel.url}/ws`);
  for (let i = 0; i < 5; i++) socket.send(new Uint8Array(500_000));
  // What passes is between the visitor and the service: the relay can only end it.
  assert.equal((await quiet.closed).code, 1006);
  assert.equal((await socket.closed).code, 1006);
  assert.equal((await tunnel.whenOver()).code, 0);
  await assertGone(tunnel.url, "tunnel_traffic_exhausted");
});

Deno.test("a tunnel expires while it carries a stream: cut, summary, 410, and --resume says so", async () => {
  await using site = startSite();
  await using server = await startServer({ args: ["--ephemeral-seconds", "3"] });
  await using config = await makeTempDir();
  await using tunnel = await startTunnel({ server, target: site, configDir: config.path });
  const left = Date.parse(String(tunnel.opened.expiresAt)) - Date.now();
  assert(left > 0 && left <= 3000, `${left} ms were left`);
  const stream = await visit(`${tunnel.url}/events`);
  await assert.rejects(stream.bytes());
  const { code, summary } = await tunnel.whenOver();
  assert.equal(code, 0);
  assert.match(String(summary.reason), /expired/);
  assert.equal(summary.requests, 1);
  await assertGone(tunnel.url, "tunnel_expired");
  await assertResumeRefused(server, config.path, /no tunnel to resume/);
});

Deno.test("a server whose own name is below the domain of its tunnels is still itself", async () => {
  await using site = startSite();
  const port = findFreePort();
  const args = ["--url", `http://hq.localhost:${port}`, "--tunnel-domains", "localhost"];
  await using server = await startServer({ port, args });
  await using tunnel = await startTunnel({ server, target: site });
  assert.match(tunnel.url, /^http:\/\/[a-z0-9]{16}\.localhost:\d+$/);
  assert.equal(await (await visit(`${tunnel.url}/text`)).text(), "hello");
  assert.equal((await server.health()).sessions, 1);
});

function findFreePort(): number {
  using listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  return listener.addr.port;
}

Deno.test("a tunnel may live for a year", async () => {
  await using site = startSite();
  await using server = await startServer({ args: ["--ephemeral-seconds", String(365 * 24 * 3600)] });
  await using tunnel = await startTunnel({ server, target: site });
  assert.equal(await (await visit(`${tunnel.url}/text`)).text(), "hello");
  const { code, summary } = await tunnel.stop();
  assert.deepEqual([code, summary.requests], [0, 1]);
  assert.match(String(summary.reason), /stopped/);
});

Deno.test("what was used stays used when the relay is started again", async () => {
  await using site = startSite();
  await using data = await makeTempDir();
  const start = (port = 0) => startServer({ port, dataDir: data.path, args: ["--ephemeral-bytes", String(LIMIT)] });
  await using first = await start();
  await using tunnel = await startTunnel({ server: first, target: site });
  await (await visit(`${tunnel.url}/noise?size=1500000`)).bytes();
  first.kill("SIGTERM");
  assert.equal((await first.ended).code, 0);
  await using second = await start(first.port);
  await tunnel.events.waitFor("reconnected");
  await (await visit(`${tunnel.url}/noise?size=1500000`)).bytes().catch(() => {});
  assert.match(String((await tunnel.whenOver()).summary.reason), /traffic/);
  await second.whenHealth(({ sessions }) => sessions === 0);
});

async function assertResumeRefused(server: Server, configDir: string, why: RegExp): Promise<void> {
  const args = ["--resume", "--json", "--server", server.url, "--config-dir", configDir];
  const { code, output, errors } = await runProgram({ entry: "cli.ts", args });
  assert.deepEqual([code, output], [1, ""]);
  assert.match(errors, why);
  assert.equal(errors.split("\n").length, 1, errors);
}

Deno.test("making tunnels is limited by address: 429 with Retry-After, and the client says so in one line", async () => {
  await using server = await startServer({ args: ["--tunnels-per-minute", "2"] });
  const make = () => visit(`${server.url}/api/v1/tunnels/ephemeral`, { method: "POST" });
  for (let i = 0; i < 2; i++) assert.equal((await make()).status, 201);
  const refused = await make();
  assert.equal(refused.status, 429);
  assert(Number(refused.headers["retry-after"]) > 0);
  await using config = await makeTempDir();
  const { code, errors } = await runProgram({
    entry: "cli.ts",
    args: ["-e", "3000", "--server", server.url, "--config-dir", config.path],
  });
  assert.equal(code, 1);
  assert.match(errors, /^portway: .*\bwait|minute|too many|often/i);
  assert.equal(errors.split("\n").length, 1, errors);
});

Deno.test("who has a whole IPv6 network counts as one, and nobody can make an address up", async () => {
  await using server = await startServer({ args: ["--tunnels-per-minute", "2", "--trusted-proxies", "127.0.0.1"] });
  const make = async (visitor: string) => {
    const headers = { "x-forwarded-for": visitor };
    return (await visit(`${server.url}/api/v1/tunnels/ephemeral`, { method: "POST", headers })).status;
  };
  assert.deepEqual([await make("2001:db8::1"), await make("2001:db8::2"), await make("2001:db8::3")], [201, 201, 429]);
  assert.equal(await make("2001:db8:0:1::1"), 201);
  // The proxy's own entry is the last, with a port or without.
  for (const made of ["6.6.6.6", "7.7.7.7"]) assert.equal(await make(`${made}, 203.0.113.9:1234`), 201);
  assert.equal(await make("8.8.8.8, 203.0.113.9:1234"), 429);
});

Deno.test("a visitor cannot make the local service believe in another host, a trusted proxy in between or not", async () => {
  await using site = startSite();
  await using server = await startServer({ args: ["--trusted-proxies", "127.0.0.1"] });
  await using tunnel = await startTunnel({ server, target: site, args: ["--host-header", "public"] });
  const headers = {
    "x-forwarded-host": "evil.example",
    "forwarded": "host=evil.example",
    "x_forwarded_host": "evil.example",
  };
  const { headers: seen } = await (await visit(`${tunnel.url}/inspect`, { headers })).json() as { headers: string[][] };
  const fields = new Headers(seen as [string, string][]), { host } = new URL(tunnel.url);
  assert.deepEqual([fields.get("host"), fields.get("x-forwarded-host")], [host, host]);
  assert(!JSON.stringify(seen).includes("evil"), JSON.stringify(seen));
});

Deno.test("labels and secrets cannot be guessed: long, random, never the same", async () => {
  await using server = await startServer({ args: ["--tunnels-per-minute", "1000"] });
  const made = await Promise.all(Array.from({ length: 50 }, async () => {
    const answer = await visit(`${server.url}/api/v1/tunnels/ephemeral`, { method: "POST" });
    return await answer.json() as { id: string; url: string; secret: string };
  }));
  const labels = made.map(({ url }) => new URL(url).hostname.split(".")[0]);
  assert.equal(new Set(labels).size, 50);
  assert.equal(new Set(made.map(({ secret }) => secret)).size, 50);
  // 16 characters of an alphabet of 32, and 128 bits of secret at least.
  assert(labels.every((label) => label.length >= 16), labels[0]);
  assert(made.every(({ secret }) => secret.length >= 22), "secrets are too short");
});

Deno.test("a tunnel's API tells its owner and nobody else", async () => {
  await using server = await startServer();
  const answer = await visit(`${server.url}/api/v1/tunnels/ephemeral`, { method: "POST" });
  const { id, secret } = await answer.json() as { id: string; secret: string };
  const ask = (headers: Record<string, string>) => visit(`${server.url}/api/v1/tunnels/ephemeral/${id}`, { headers });
  assert.equal((await ask({ authorization: `Bearer ${secret}` })).status, 200);
  assert.equal((await ask({})).status, 401);
  assert.equal((await ask({ authorization: `Bearer ${secret.slice(0, -1)}x` })).status, 404);
});
