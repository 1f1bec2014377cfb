import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import net, { type Socket } from "node:net";
import { WebSocket, WebSocketServer } from "ws";
import { nodeDriver } from "../../../net/connection/node.ts";
import type { Connection } from "../../../net/connection/mod.ts";
import { createLogger } from "../../../common/log.ts";
import { Guard } from "../../guard/mod.ts";

import { AlarmClock } from "../perform/deadline.ts";
import { ProxyGate } from "../gate.ts";
import { Performer } from "../perform/perform.ts";
import { RequestRecord } from "../request_log.ts";
import { type UpgradeExchange, UpgradeRoute } from "./upgrade.ts";
import { Upstream } from "../perform/upstream.ts";
import { until } from "../perform/_test_upstream.ts";

/** The route, with visitors whose connections it is given by hand, as a listener would. */
function startRoute(options: { token?: string; streamIdleMs?: number } = {}) {
  const log: string[] = [];
  const guard = new Guard({ allow: ["127.0.0.1"] });
  const clock = new AlarmClock();
  const upstream = new Upstream({ guard, connectTimeoutMs: 5000 });
  const sender = { upstream, guard, viaToken: "portway-test" };
  const limits = {
    maxBytes: 1e6,
    timeoutMs: 5000,
    streamIdleMs: options.streamIdleMs ?? 60_000,
    maxConcurrent: 10,
    allowSkipTlsVerify: false,
  };
  const gate = new ProxyGate({ token: options.token ?? null, requestsPerMinute: null, viaToken: sender.viaToken });
  const performer = new Performer(sender, clock, limits);
  const route = new UpgradeRoute({ gate, performer, sender, clock, limits });
  const ends: (() => void)[] = [() => route.close(), () => upstream.close(), () => clock.stop()];

  /** A WebSocket client that is led to `path` of the route. */
  async function visit(path: string, protocols: string[] = [], headers: Record<string, string> = {}) {
    const [visitor, connection] = await openVisitor();
    ends.push(() => visitor.destroy());
    const client = new WebSocket("ws://proxy.test/", protocols, { createConnection: () => visitor, headers });
    // What it fails with is told by `failure` as well.
    client.on("error", () => {});
    const exchange = await readExchange(connection, path);
    const record = new RequestRecord(createLogger({ write: (line) => log.push(line) }), "/proxy/fetch", "test");
    const responded = route.handle(exchange, "websocket", record);
    return { client, responded, visitor };
  }

  return {
    visit,
    route,
    log,
    [Symbol.dispose]() {
      for (const end of ends) end();
    },
  };
}

/** A visitor's socket, and the server's end of it. */
async function openVisitor(): Promise<[Socket, Connection]> {
  const server = net.createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(address !== null && typeof address === "object");
  const accepted = once(server, "connection");
  const connection = await nodeDriver.openTcp("127.0.0.1", address.port);
  const [visitor] = await accepted;
  server.close();
  return [visitor, connection];
}

/** Reads a head as a listener would. */
async function readExchange(connection: Connection, target: string): Promise<UpgradeExchange> {
  const memory = new Uint8Array(16_384);
  let text = "";
  while (!text.endsWith("\r\n\r\n")) {
    const read = await connection.read(memory);
    assert(read !== null);
    text += new TextDecoder("latin1").decode(memory.subarray(0, read));
  }
  const fields = text.split("\r\n").slice(1, -2).map((line) => line.split(/: ?/, 2));
  const header = (name: string) => fields.find(([one]) => one.toLowerCase() === name)?.[1] ?? null;
  const exchange: Partial<UpgradeExchange> = {
    method: "GET",
    path: target,
    headers: fields.flatMap(([name, value]) => [name.toLowerCase(), value]),
    header,
    signal: new AbortController().signal,
    response: {
      switchProtocols(block) {
        const head = `HTTP/1.1 101 ${new TextDecoder("latin1").decode(block)}Connection: upgrade\r\n\r\n`;
        connection.write(new TextEncoder().encode(head)).catch(() => connection.close());
        return connection;
      },
    },
  };
  return exchange as UpgradeExchange;
}

/** An upstream whose WebSockets send back what they are sent. */
async function startEcho() {
  const server: Server = createServer((_, response) => void response.writeHead(404).end("no page"));
  const handshakes: Record<string, string | string[] | undefined>[] = [];
  const sockets = new WebSocketServer({ server, handleProtocols: (offered) => offered.has("v2") ? "v2" : false });
  sockets.on("connection", (socket, request) => {
    handshakes.push(request.headers);
    socket.on("message", (data, isBinary) => socket.send(data, { binary: isBinary }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(address !== null && typeof address === "object");
  return {
    port: address.port,
    handshakes,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

for (const scheme of ["ws", "http"]) {
  Deno.test(`proxy carries a WebSocket to ${scheme}://, messages, subprotocol, closing and all`, async () => {
    await using upstream = await startEcho();
    using proxy = startRoute();
    const { client, responded } = await proxy.visit(
      `/proxy/fetch/${scheme}://127.0.0.1:${upstream.port}/chat?room=1`,
      ["v1", "v2"],
      { "origin": "https://app.example", "cookie": "own=secret", "x-own": "kept" },
    );
    await once(client, "open");
    assert.equal(await responded, null);
    assert.equal(client.protocol, "v2");
    for (const message of ["hello", "x".repeat(300_000)]) {
      client.send(message);
      const [data] = await once(client, "message");
      assert.equal(String(data), message);
    }
    const [handshake] = upstream.handshakes;
    assert.equal(handshake["x-own"], "kept");
    assert.equal(handshake.host, `127.0.0.1:${upstream.port}`);
    for (const name of ["origin", "cookie"]) assert.equal(handshake[name], undefined, name);
    client.close(4001, "enough");
    const [code, reason] = await once(client, "close");
    assert.deepEqual([code, String(reason)], [4001, "enough"]);
  });
}

Deno.test("proxy passes on what an upstream says that wants no WebSocket", async () => {
  await using upstream = await startEcho();
  upstream.sockets.options.verifyClient = (_info, done) => done(false, 403, "not you");
  using proxy = startRoute();
  const { responded } = await proxy.visit(`/proxy/fetch/ws://127.0.0.1:${upstream.port}/`);
  const response = await responded;
  assert(response !== null);
  assert.deepEqual([response.status, await new Response(response.body).text()], [403, "not you"]);
});

Deno.test("proxy checks the handshake of a WebSocket as any request: guard and token", async () => {
  await using upstream = await startEcho();
  using proxy = startRoute({ token: "s3cret" });
  const url = `ws://127.0.0.1:${upstream.port}/`;
  const refusal = async (path: string, headers: Record<string, string> = {}) => {
    const { responded } = await proxy.visit(path, [], headers);
    return await responded.then(() => "let in", (error) => error.code);
  };
  assert.equal(await refusal(`/proxy/fetch/${url}`), "token_required");
  assert.equal(await refusal("/proxy/fetch/ws://10.0.0.1/", { "portway-token": "s3cret" }), "address_forbidden");
  assert.equal(await refusal("/proxy/fetch/ws://1.1.1.1:25/", { "portway-token": "s3cret" }), "port_forbidden");
  assert.equal(await refusal(`/proxy/fetch/${url}`, { "portway-token": "s3cret" }), "let in");
  assert.equal(upstream.handshakes[0]?.["portway-token"], undefined);
});

Deno.test("proxy ends a WebSocket with the end of either side, with its own, and with silence, and logs it once", async () => {
  await using upstream = await startEcho();
  const path = `/proxy/fetch/ws://127.0.0.1:${upstream.port}/?key=secret`;
  const open = async (proxy: ReturnType<typeof startRoute>) => {
    const arrived = once(upstream.sockets, "connection");
    const visited = await proxy.visit(path);
    await once(visited.client, "open");
    const [socket] = await arrived;
    return { ...visited, ended: Promise.all([once(visited.client, "close"), once(socket, "close")]), socket };
  };
  using proxy = startRoute();
  const left = await open(proxy);
  left.visitor.destroy();
  await left.ended;
  const dropped = await open(proxy);
  dropped.socket.terminate();
  await dropped.ended;
  const closed = await open(proxy);
  proxy.route.close();
  await closed.ended;
  using impatient = startRoute({ streamIdleMs: 20 });
  await (await open(impatient)).ended;
  await until(() => proxy.log.length >= 3);
  assert.match(proxy.log[0], /upstream="http:\/\/127\.0\.0\.1:\d+\/\?key" status=101/);
});
