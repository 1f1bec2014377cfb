/** Persistent tunnels: who may use them, their ports, and what ends their sessions. */
import assert from "node:assert/strict";
import { openSocket, startSite, startSocketService, visit } from "./kit.ts";
import { callApi, expose, makeTunnel, startTunnelServer, urlOfPort } from "./kit/tunnel_server.ts";

Deno.test("a persistent tunnel keeps its address, whoever of the account carries it", async () => {
  await using server = await startTunnelServer();
  server.members.add("amy", { accountId: "account-of-ann" });
  await using site = startSite();
  const tunnel = await makeTunnel(server, "ann");
  assert.match(tunnel.url, /^http:\/\/app-[a-z0-9]{8}\.tunnel\.localhost:\d+$/);
  assert.equal((await visit(tunnel.url)).headers["portway-error"], "tunnel_offline");
  {
    await using _first = await expose(server, { token: "ann", tunnel, service: site });
    assert.equal(await (await visit(`${tunnel.url}/text`)).text(), "hello");
  }
  await using _second = await expose(server, { token: "amy", tunnel, service: site });
  assert.equal(await (await visit(`${tunnel.url}/text`)).text(), "hello");
});

Deno.test("each port of a tunnel has a host of its own, over HTTP, SSE and WebSockets", async () => {
  await using server = await startTunnelServer();
  await using site = startSite();
  await using sockets = await startSocketService();
  const tunnel = await makeTunnel(server, "ann", { allowedPorts: [3000, 8080] });
  await using _web = await expose(server, { token: "ann", tunnel, service: site });
  await using _api = await expose(server, { token: "ann", tunnel, port: 8080, service: sockets });
  assert.equal(await (await visit(`${tunnel.url}/text`)).text(), "hello");
  assert.equal(await (await visit(`${urlOfPort(tunnel, 3000)}/text`)).text(), "hello");
  const events = await visit(`${tunnel.url}/events`);
  for await (const piece of events.body) {
    assert.match(new TextDecoder().decode(piece), /data/);
    break;
  }
  await using socket = await openSocket(`${urlOfPort(tunnel, 8080)}/ws`);
  socket.send("over the second port");
  assert.equal(await socket.next(), "over the second port");
  const { live } = await (await callApi(server, "ann", "GET", `/tunnels/${tunnel.id}`)).json() as {
    live: { port: number }[];
  };
  assert.deepEqual(live.map(({ port }) => port), [3000, 8080]);
});
