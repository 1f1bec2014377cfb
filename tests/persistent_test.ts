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

Deno.test("a tunnel that is switched off answers 403 at once, to visitors under way and to its owner", async () => {
  await using server = await startTunnelServer();
  await using site = startSite();
  await using sockets = await startSocketService();
  const tunnel = await makeTunnel(server, "ann");
  await using web = await expose(server, { token: "ann", tunnel, service: site });
  await using api = await expose(server, { token: "ann", tunnel, port: 8080, service: sockets });
  const held = visit(`${tunnel.url}/hold`);
  await site.log.waitFor("open /hold");
  const stream = await visit(`${tunnel.url}/events`);
  await using socket = await openSocket(`${urlOfPort(tunnel, 8080)}/ws`);
  const changed = await callApi(server, "ann", "PATCH", `/tunnels/${tunnel.id}`, { enabled: false });
  assert.equal((await changed.json() as { enabled: boolean }).enabled, false);

  assert.equal((await web.ended).reason, "disabled");
  assert.equal((await api.ended).reason, "disabled");
  assert.equal((await held).headers["portway-error"], "tunnel_disabled");
  await assert.rejects(stream.bytes());
  assert.equal((await socket.closed).code, 1006);
  for (const method of ["GET", "HEAD", "OPTIONS", "POST"]) {
    const { status, headers } = await visit(tunnel.url, { method });
    assert.deepEqual([status, headers["portway-error"]], [403, "tunnel_disabled"], method);
  }
  await assert.rejects(openSocket(`${tunnel.url}/ws`), /403/);
  await assert.rejects(expose(server, { token: "ann", tunnel, service: site }), { code: "tunnel_disabled" });

  await callApi(server, "ann", "PATCH", `/tunnels/${tunnel.id}`, { enabled: true });
  await using _again = await expose(server, { token: "ann", tunnel, service: site });
  assert.equal(await (await visit(`${tunnel.url}/text`)).text(), "hello");
});

Deno.test("the owner's newer session takes a port over, the older one is told, and other ports are left alone", async () => {
  await using server = await startTunnelServer();
  await using site = startSite();
  await using sockets = await startSocketService();
  const tunnel = await makeTunnel(server, "ann");
  await using older = await expose(server, { token: "ann", tunnel, service: site });
  await using other = await expose(server, { token: "ann", tunnel, port: 8080, service: sockets });
  await using _newer = await expose(server, { token: "ann", tunnel, port: 3000, service: site });
  assert.equal((await older.ended).reason, "replaced");
  assert.equal(await (await visit(`${tunnel.url}/text`)).text(), "hello");
  await using socket = await openSocket(`${urlOfPort(tunnel, 8080)}/ws`);
  socket.send("still there");
  assert.equal(await socket.next(), "still there");
  assert.equal(other.session.active, 0);
});

Deno.test("a port outside the allowed ones is refused to sessions and visitors, also when it was allowed before", async () => {
  await using server = await startTunnelServer();
  await using site = startSite();
  const tunnel = await makeTunnel(server, "ann", { allowedPorts: [3000, 8080] });
  const refused = { code: "port_not_allowed" };
  await assert.rejects(expose(server, { token: "ann", tunnel, port: 9000, service: site }), refused);
  assert.deepEqual((await visit(urlOfPort(tunnel, 9000))).headers["portway-error"], "port_not_allowed");
  assert.equal((await visit(urlOfPort(tunnel, 8080))).headers["portway-error"], "tunnel_offline");
  for (
    const label of [`${tunnel.label}--0`, `${tunnel.label}--08080`, `${tunnel.label}--70000`, `${tunnel.label}--x`]
  ) {
    assert.equal(
      (await visit(tunnel.url.replace(tunnel.label, label))).headers["portway-error"],
      "tunnel_not_found",
      label,
    );
  }
  await using api = await expose(server, { token: "ann", tunnel, port: 8080, service: site });
  assert.equal((await visit(`${urlOfPort(tunnel, 8080)}/text`)).status, 200);
  await callApi(server, "ann", "PATCH", `/tunnels/${tunnel.id}`, { allowedPorts: [3000] });
  assert.equal((await api.ended).reason, "disabled");
  assert.equal((await visit(`${urlOfPort(tunnel, 8080)}/text`)).status, 403);
});

Deno.test("the address leads to the new default port as soon as that changes", async () => {
  await using server = await startTunnelServer();
  await using one = startSite();
  await using two = await startSocketService();
  const tunnel = await makeTunnel(server, "ann");
  await using _one = await expose(server, { token: "ann", tunnel, service: one });
  await using _two = await expose(server, { token: "ann", tunnel, port: 8080, service: two });
  assert.equal((await visit(`${tunnel.url}/text`)).status, 200);
  await callApi(server, "ann", "PATCH", `/tunnels/${tunnel.id}`, { defaultPort: 8080 });
  await using socket = await openSocket(`${tunnel.url}/ws`);
  socket.send("new");
  assert.equal(await socket.next(), "new");
  assert.equal(await (await visit(`${urlOfPort(tunnel, 3000)}/text`)).text(), "hello");
});

Deno.test("a tunnel that is deleted is gone for visitors, its session and the API", async () => {
  await using server = await startTunnelServer();
  await using site = startSite();
  const tunnel = await makeTunnel(server, "ann");
  await using exposed = await expose(server, { token: "ann", tunnel, service: site });
  assert.equal((await callApi(server, "ann", "DELETE", `/tunnels/${tunnel.id}`)).status, 204);
  assert.equal((await exposed.ended).reason, "removed");
  assert.equal((await visit(tunnel.url)).headers["portway-error"], "tunnel_not_found");
  assert.equal((await callApi(server, "ann", "GET", `/tunnels/${tunnel.id}`)).status, 404);
  await assert.rejects(expose(server, { token: "ann", tunnel, service: site }), { code: "tunnel_not_found" });
  assert.notEqual((await makeTunnel(server, "ann")).label, tunnel.label);
});

Deno.test("sessions are for members of the tunnel's account, with the scope, and a paid plan", async () => {
  await using server = await startTunnelServer();
  await using site = startSite();
  const tunnel = await makeTunnel(server, "ann");
  server.members.add("reader", { accountId: "account-of-ann", scopes: ["views:read"] });
  const attempt = (token: string) => expose(server, { token, tunnel, service: site });
  await assert.rejects(attempt("bob"), { status: 404, code: "tunnel_not_found" });
  await assert.rejects(attempt("nobody"), { status: 401 });
  await assert.rejects(attempt("reader"), { status: 403, code: "scope_missing" });
  server.members.all.get("ann")!.plan = "free";
  await assert.rejects(attempt("ann"), { status: 403, code: "plan_required" });
});

Deno.test("sessions of a user who was suspended, or whose account is not paid any more, end by themselves", async () => {
  await using server = await startTunnelServer();
  await using site = startSite();
  const [anns, bobs] = [await makeTunnel(server, "ann"), await makeTunnel(server, "bob")];
  await using ann = await expose(server, { token: "ann", tunnel: anns, service: site });
  await using bob = await expose(server, { token: "bob", tunnel: bobs, service: site });
  server.members.all.get("ann")!.suspended = true;
  server.members.all.get("bob")!.plan = "free";
  assert.deepEqual(await ann.ended, { reason: "disabled", text: "your user was suspended" });
  assert.deepEqual(await bob.ended, { reason: "disabled", text: "persistent tunnels need a paid account" });
});

Deno.test("/health?ready returns 503 while the server drains, and 200 before", async () => {
  await using server = await startTunnelServer({ drainSeconds: "60" });
  await using site = startSite();
  const tunnel = await makeTunnel(server, "ann");
  await using _web = await expose(server, { token: "ann", tunnel, service: site });
  const read = async () => {
    const response = await visit(`${server.url}/health?ready`);
    return [response.status, (await response.json() as { status: string }).status];
  };
  assert.deepEqual(await read(), [200, "ok"]);
  const held = visit(`${tunnel.url}/hold`);
  await site.log.waitFor("open /hold");
  const drained = server.running.drain();
  assert.deepEqual(await read(), [503, "draining"]);
  assert.equal((await visit(`${tunnel.url}/text`)).headers["portway-error"], "server_restarting");
  site.release();
  assert.equal((await held).status, 200);
  await drained;
});
