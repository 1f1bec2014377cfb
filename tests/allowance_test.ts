/** What a user may carry a month: counted, told of, and enforced in the middle of a body. */
import assert from "node:assert/strict";
import { openSocket, startSite, startSocketService, visit } from "./kit.ts";
import { callApi, expose, makeTunnel, startTunnelServer } from "./kit/tunnel_server.ts";

const LIMIT = 1_000_000;

async function readAllowance(server: { url: string }, token = "ann") {
  return await (await callApi(server, token, "GET", "/usage")).json() as {
    month: string;
    bytes: number;
    bytesLimit: number;
    resetsAt: string;
    warning: boolean;
  };
}

Deno.test("the allowance ends a body in its middle, and 429 tells until when, for all tunnels of the user", async () => {
  await using server = await startTunnelServer({ monthlyBytes: String(LIMIT) });
  await using site = startSite();
  await using sockets = await startSocketService();
  const [tunnel, other] = [await makeTunnel(server, "ann"), await makeTunnel(server, "ann", { name: "other" })];
  await using exposed = await expose(server, { token: "ann", tunnel, service: site });
  await using second = await expose(server, { token: "ann", tunnel: other, service: sockets });
  await using socket = await openSocket(`${other.url}/ws`);
  const body = await visit(`${tunnel.url}/noise?size=50000000`);
  await assert.rejects(body.bytes());
  assert.deepEqual(await exposed.ended, { reason: "allowance", text: "the traffic of this month is used up" });
  assert.equal((await second.ended).reason, "allowance");
  assert.equal((await socket.closed).code, 1006);
  for (const url of [tunnel.url, other.url]) {
    const { status, headers } = await visit(url);
    assert.deepEqual([status, headers["portway-error"]], [429, "allowance_exhausted"]);
    const now = new Date(), next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
    assert(Math.abs(Number(headers["retry-after"]) * 1000 - (next - now.getTime())) < 60_000);
  }
  await assert.rejects(openSocket(`${other.url}/ws`), /429/);
  await assert.rejects(expose(server, { token: "ann", tunnel, service: site }), { code: "allowance_exhausted" });
  const { bytes, bytesLimit, warning, month, resetsAt } = await readAllowance(server);
  assert(bytes >= LIMIT && bytes < LIMIT + 300_000, `${bytes} bytes`);
  assert.deepEqual([bytesLimit, warning, month.length], [LIMIT, true, 7]);
  assert(Date.parse(resetsAt) > Date.now());
});

Deno.test("an allowance is each user's own, in an account too: another member carries the tunnel on", async () => {
  await using server = await startTunnelServer({ monthlyBytes: String(LIMIT) });
  server.members.add("amy", { accountId: "account-of-ann" });
  await using site = startSite();
  const tunnel = await makeTunnel(server, "ann");
  await using exposed = await expose(server, { token: "ann", tunnel, service: site });
  await (await visit(`${tunnel.url}/noise?size=50000000`)).bytes().catch(() => {});
  await exposed.ended;
  await using _amys = await expose(server, { token: "amy", tunnel, service: site });
  assert.equal(await (await visit(`${tunnel.url}/text`)).text(), "hello");
  const { bytes } = await readAllowance(server, "amy");
  assert(bytes > 0 && bytes < LIMIT / 2, `${bytes} bytes`);
});

Deno.test("at four fifths the user is told: in the log, in the API, and by their client, old sessions and new", async () => {
  await using server = await startTunnelServer({ monthlyBytes: String(LIMIT) });
  await using site = startSite();
  const tunnel = await makeTunnel(server, "ann");
  await using exposed = await expose(server, { token: "ann", tunnel, service: site });
  await (await visit(`${tunnel.url}/noise?size=700000`)).bytes();
  assert.equal((await readAllowance(server)).warning, false);
  await (await visit(`${tunnel.url}/noise?size=120000`)).bytes();
  assert.match(await exposed.notices.waitFor("%"), /^8\d % of this month's traffic is used$/);
  assert.match(await server.log.waitFor("allowance_low"), /"user":"ann"/);
  assert.equal((await readAllowance(server)).warning, true);
  await using next = await expose(server, { token: "ann", tunnel, port: 8080, service: site });
  await next.notices.waitFor(/^8\d %/);
  assert.equal(exposed.notices.lines.length, 1);
});

Deno.test("requests and bytes of a tunnel are there by day, and its last requests one by one", async () => {
  await using server = await startTunnelServer();
  await using site = startSite();
  const tunnel = await makeTunnel(server, "ann");
  await using _exposed = await expose(server, { token: "ann", tunnel, service: site });
  await (await visit(`${tunnel.url}/noise?size=100000`)).bytes();
  await (await visit(`${tunnel.url}/status/404`)).bytes();
  const { requests } = await (await callApi(server, "ann", "GET", `/tunnels/${tunnel.id}/requests`)).json() as {
    requests: { method: string; path: string; status: number; port: number; bytes: number }[];
  };
  assert.deepEqual(
    requests.map(({ method, path, status, port }) => [method, path, status, port]),
    [["GET", "/status/404", 404, 3000], ["GET", "/noise?size=100000", 200, 3000]],
  );
  assert(requests[1].bytes > 100_000);
  const read = async () => {
    const answer = await callApi(server, "ann", "GET", `/tunnels/${tunnel.id}/usage?days=3`);
    return (await answer.json() as { days: { day: string; bytes: number; requests: number }[] }).days;
  };
  let days = await read();
  for (; days[2].requests < 2; days = await read()) await new Promise((resolve) => setTimeout(resolve, 50));
  assert.deepEqual(days.map(({ requests }) => requests), [0, 0, 2]);
  assert(days[2].bytes > 100_000 && days[2].bytes < 200_000, `${days[2].bytes}`);
  assert.equal((await readAllowance(server)).bytes, days[2].bytes);
});
