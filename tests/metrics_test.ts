/** What Prometheus reads of a server. */
import assert from "node:assert/strict";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { rawRequest, runProgram, type Server, startServer, startSite, startTunnel, visit } from "./kit.ts";
import { startViewsServer } from "./views_kit.ts";

/** Values by name and labels. The format is checked on the way. */
async function readMetrics(url: string): Promise<Map<string, number>> {
  const answer = await visit(url);
  assert.equal(answer.status, 200);
  assert.equal(answer.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
  const values = new Map<string, number>();
  const text = await answer.text();
  assert.match(text, /\n$/);
  let name = "";
  for (const line of text.slice(0, -1).split("\n")) {
    name = /^# HELP ([a-z_]+) .+\.$/.exec(line)?.[1] ?? name;
    if (line.startsWith("# HELP")) continue;
    if (line.startsWith("# TYPE")) assert.match(line, new RegExp(`^# TYPE ${name} (counter|gauge)$`));
    else {
      const [, key, value] = new RegExp(`^(${name}(?:\\{[a-z]+="[^"]*"\\})?) ([\\d.e+-]+)$`).exec(line) ?? [];
      assert.ok(key !== undefined && Number.isFinite(Number(value)), line);
      values.set(key, Number(value));
    }
  }
  return values;
}

async function startMetered(args: string[] = []): Promise<{ server: Server; url: string }> {
  const server = await startServer({ args: ["--metrics", "0", ...args] });
  const [{ metrics }] = server.events.all();
  return { server, url: String(metrics) };
}

for (const listener of ["edge", "deno"]) {
  Deno.test(`metrics count sessions, streams, answers by class and what fails (listener ${listener})`, async () => {
    await using site = startSite();
    const { server: started, url } = await startMetered(["--listener", listener]);
    await using server = started;
    await using tunnel = await startTunnel({ server, target: site });
    const before = await readMetrics(url);
    assert.equal(before.get("portway_sessions"), 1);
    assert.equal(before.get("portway_streams"), 0);
    assert.equal(before.get("portway_store_failing"), 0);
    assert.equal(before.get("portway_captures_total"), 0);
    assert.ok((before.get("process_resident_memory_bytes") ?? 0) > 10_000_000);
    const [build] = [...before.keys()].filter((key) => /^portway_build_info\{version="[^"]+"\}$/.test(key));
    assert.equal(before.get(build), 1);

    for (const path of ["/text", "/text", "/status/404", "/status/503"]) await (await visit(tunnel.url + path)).bytes();
    await (await visit(`${tunnel.url}/noise?size=1000000`)).bytes();
    const after = await readMetrics(url);
    const grown = (key: string) => (after.get(key) ?? NaN) - (before.get(key) ?? NaN);
    const classes = ["2xx", "4xx", "5xx"].map((name) => grown(`portway_responses_total{class="${name}"}`));
    assert.deepEqual(classes, [3, 1, 1]);
    assert.equal(grown('portway_answers_total{class="2xx"}'), 3, "the former name stays for a release");
    if (listener === "edge") {
      assert.ok(grown("portway_sent_bytes_total") > 1_000_000 && grown("portway_received_bytes_total") > 1_000_000);
      assert.ok((after.get("portway_connections") ?? 0) >= 1);
    }

    const database = join(server.dataDir, "portway.db");
    await rename(database, `${database}.gone`);
    await server.whenHealth(({ status }) => status === "storage_failed");
    assert.equal((await readMetrics(url)).get("portway_store_failing"), 1);
  });
}

Deno.test("metrics are on an address of their own, and nowhere else", async () => {
  const { server: started, url } = await startMetered();
  await using server = started;
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/metrics$/);
  assert.equal((await visit(`${server.url}/metrics`)).status, 404);
  assert.equal((await visit(new URL("/health", url).href)).status, 404);
  assert.equal((await visit(url, { method: "POST" })).status, 404);
});

Deno.test("what strangers send makes no series of metrics", async () => {
  const { server: started, url } = await startMetered();
  await using server = started;
  const before = await readMetrics(url);
  for (let turn = 0; turn < 20; turn++) {
    await rawRequest(server.port, `M${turn} /${turn}?secret HTTP/1.1\r\nhost: h${turn}.try.localhost\r\n\r\n`);
  }
  assert.deepEqual([...(await readMetrics(url)).keys()], [...before.keys()]);
});

Deno.test("an address of metrics that is none, or taken, is told in a line", async () => {
  const wrong = await runProgram({ entry: "server.ts", args: ["--metrics", "here:there"] });
  assert.deepEqual([wrong.code, wrong.errors], [
    2,
    'portway: --metrics: cannot use "here:there": a port or an address with a port, such as 127.0.0.1:9090, is wanted',
  ]);
  await using server = await startServer();
  const args = ["--port", "0", "--data-dir", ":memory:", "--metrics", String(server.port)];
  const taken = await runProgram({ entry: "server.ts", args });
  assert.equal(taken.code, 1);
  assert.match(taken.errors, new RegExp(`^portway: cannot listen for metrics on 127.0.0.1 port ${server.port}: .*$`));
});

Deno.test("metrics count what views keep and refuse, what that takes, and who follows", async () => {
  await using views = await startViewsServer({ args: ["--metrics", "0", "--view-body-bytes", "2000"] });
  const [{ metrics }] = views.server.events.all();
  const { id, captureUrl } = await views.addView();
  const stop = new AbortController();
  const tail = await views.ask(`/api/v1/views/${id}/stream`, { signal: stop.signal });
  for (let count = 0; count < 3; count++) {
    await (await fetch(captureUrl, { method: "POST", body: "x".repeat(100) })).text();
  }
  await (await fetch(captureUrl, { method: "POST", body: "x".repeat(3000) })).text();
  await (await fetch(captureUrl.slice(0, -1))).text();
  await (await fetch(captureUrl, { headers: { "portway-capture": id } })).text();
  const values = await readMetrics(String(metrics));
  assert.equal(values.get("portway_captures_total"), 3);
  assert.equal(values.get("portway_captured_bytes_total"), 300);
  const refused = [...values].filter(([key, value]) => key.startsWith("portway_captures_refused_total") && value > 0);
  assert.deepEqual(refused, [
    ['portway_captures_refused_total{reason="view_not_found"}', 1],
    ['portway_captures_refused_total{reason="body_too_large"}', 1],
    ['portway_captures_refused_total{reason="loop_detected"}', 1],
  ]);
  assert.equal(values.get("portway_capture_commits_total"), 3);
  assert.ok((values.get("portway_capture_commit_seconds_total") ?? 0) > 0);
  assert.equal(values.get("portway_view_tails"), 1);
  stop.abort();
  await tail.body?.cancel().catch(() => {});
});

Deno.test("metrics on a loopback address refuse the names that a page could have resolve to it", async () => {
  await using server = await startServer({ args: ["--metrics", "0"] });
  const [{ metrics }] = server.events.all();
  const { port } = new URL(String(metrics));
  const read = async (host: string) =>
    (await rawRequest(Number(port), `GET /metrics HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).status;
  for (const host of [`127.0.0.1:${port}`, "localhost", `localhost:${port}`, "[::1]", `[::1]:${port}`, "192.0.2.1"]) {
    assert.equal(await read(host), 200, host);
  }
  for (const host of ["rebound.example", `rebound.example:${port}`, "127.0.0.1.rebound.example", "localhost.example"]) {
    assert.equal(await read(host), 421, host);
  }
});
