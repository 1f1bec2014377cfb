import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { once } from "node:events";
import process from "node:process";
import { openConnector } from "../../net/connection/mod.ts";
import { MessageSocket } from "../../net/websocket/mod.ts";
import { hasProgram, type RealServer, startNginx, startNode, startPython } from "./_real_servers.ts";
import { connectionOf, createRelayEnd, type RelayEnd, type Visit } from "./_relay_end.ts";
import { createUpstream } from "./upstream.ts";
import { Opening } from "../../protocol/mod.ts";

/** Runs `test` against a server that is started and stopped for it; says why not when its program is missing. */
function testWith(program: string | null, start: () => Promise<RealServer>, name: string, test: Test): void {
  const isMissing = program !== null && !hasProgram(program);
  if (isMissing) process.stdout.write(`left out: ${program} is not installed, which "${name}" needs\n`);
  Deno.test({
    name,
    ignore: isMissing,
    // Children and kept connections are this function's to end, and do; their pipes end a turn later.
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      const server = await start();
      try {
        await withUpstream(new URL(`http://127.0.0.1:${server.port}`), test);
      } finally {
        await server.stop();
      }
    },
  });
}

type Test = (end: RelayEnd & { opened: () => number }) => Promise<void>;

async function withUpstream(url: URL, test: Test): Promise<void> {
  const connect = openConnector();
  let opened = 0;
  const target = createUpstream({
    url,
    connect: (options) => {
      opened++;
      return connect(options);
    },
    hostHeader: url.host,
  });
  const end = createRelayEnd(target);
  try {
    await test({ ...end, opened: () => opened });
    for (const visit of visits.splice(0)) assert.notEqual(visit.state, "open");
    assert.deepEqual([end.relay.over, end.client.over], [false, false]);
  } finally {
    await target.close();
  }
}

const visits: Visit[] = [];

function ask({ visit }: RelayEnd, method: string, path: string, fields = ""): Visit {
  const visitor = visit(
    `${method} ${path} HTTP/1.1\r\nhost: a.example\r\n${fields}\r\n`,
    method === "POST" ? Opening.withBody : Opening.bodyless,
  );
  visits.push(visitor);
  return visitor;
}

/** Asks and waits for the end; the status and the body. */
async function fetchFrom(end: RelayEnd, method: string, path: string): Promise<[number, string]> {
  const { status, body, state } = await ask(end, method, path).until();
  assert.equal(state, "end", path);
  return [status, body];
}

async function post(end: RelayEnd, path: string, body: string, chunked: boolean): Promise<Visit> {
  const visitor = ask(end, "POST", path, chunked ? "" : `content-length: ${body.length}\r\n`);
  const bytes = Uint8Array.from(body, (char) => char.charCodeAt(0));
  // It may be answered, and reset, before all of it is sent.
  await visitor.stream.write(bytes, true).catch(() => {});
  return await visitor.until();
}

const plain: [method: string, path: string, status: number, body: string][] = [
  ["GET", "/hello", 200, "hello"],
  ["HEAD", "/hello", 200, ""],
  ["GET", "/empty", 204, ""],
  ["GET", "/hello", 200, "hello"],
];

async function testPlain(end: RelayEnd & { opened: () => number }): Promise<void> {
  for (const [method, path, status, body] of plain) {
    assert.deepEqual(await fetchFrom(end, method, path), [status, body]);
  }
  assert.equal(end.opened(), 1, "one connection was kept for all of them");
}

async function testDynamic(end: RelayEnd & { opened: () => number }): Promise<void> {
  for (const path of ["/chunked", "/hints"]) assert.deepEqual(await fetchFrom(end, "GET", path), [200, "hello"]);
  assert.deepEqual(await fetchFrom(end, "GET", "/unchanged"), [304, ""]);
  assert.deepEqual(await fetchFrom(end, "GET", "/slow"), [200, "abc"]);
  assert.deepEqual(await fetchFrom(end, "GET", "/hello"), [200, "hello"]);
  assert.equal(end.opened(), 1);
}

async function testBodies(end: RelayEnd): Promise<void> {
  const [status, body] = await fetchFrom(end, "GET", "/large");
  assert.deepEqual([status, body.length], [200, 3_000_000]);
  for (const chunked of [false, true]) {
    const text = "0123456789".repeat(30_000);
    const echoed = await post(end, "/echo", text, chunked);
    assert.deepEqual([echoed.status, echoed.body === text], [200, true]);
  }
}

async function testCut(end: RelayEnd): Promise<void> {
  const { status, body, state } = await ask(end, "GET", "/cut").until();
  assert.deepEqual([status, body, state.slice(0, 7)], [200, "part", "reset 3"]);
  assert.deepEqual(await fetchFrom(end, "GET", "/hello"), [200, "hello"]);
}

/** What is small enough to be on its way before the service closes always shows its answer; the rest mostly does. */
async function testRefusedBody(end: RelayEnd): Promise<void> {
  const visitor = await post(end, "/refuse", "x".repeat(1000), false);
  assert.deepEqual([visitor.status, visitor.body], [413, "too large"]);
  const large = await post(end, "/refuse", "x".repeat(3_000_000), false);
  assert.notEqual(large.state, "open");
  assert.deepEqual(await fetchFrom(end, "GET", "/hello"), [200, "hello"]);
}

testWith("node", startNode, "Node: plain answers over one connection", testPlain);
testWith("node", startNode, "Node: chunks with trailers, 1xx, 304, slow bodies", testDynamic);
testWith("node", startNode, "Node: large bodies both ways", async (end) => {
  await testBodies(end);
  assert.equal((await fetchFrom(end, "GET", "/large-chunked"))[1].length, 3_000_000);
});
testWith("node", startNode, "Node: an answer that is cut breaks off, the next request works", testCut);
testWith("node", startNode, "Node: an answer before the request was read", testRefusedBody);
testWith("node", startNode, "Node: a kept connection that it closes is replaced", async (end) => {
  for (let count = 0; count < 5; count++) {
    assert.deepEqual(await fetchFrom(end, "GET", "/idle"), [200, "hello"]);
    // Around the moment at which it closes: before, at and after.
    await new Promise((resolve) => setTimeout(resolve, count * 10));
  }
});
const HANDSHAKE = "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n" +
  "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

/** A visitor's WebSocket, and what it is told. */
async function openSocket({ visit }: RelayEnd, path: string) {
  const visitor = visit(`GET ${path} HTTP/1.1\r\nhost: a\r\n${HANDSHAKE}\r\n`, Opening.upgrade);
  await visitor.until(({ status, state }) => status !== 0 || state !== "open");
  const told: (string | Uint8Array)[] = [];
  const closed = Promise.withResolvers<void>();
  const open = () =>
    new MessageSocket({
      connection: connectionOf(visitor),
      masking: "random",
      maxMessageBytes: 16 * 1024 * 1024,
      onMessage: (data) => void told.push(data),
      onClose: (code, reason) => closed.resolve(void told.push(`close ${code} ${reason}`)),
    });
  return { visitor, told, closed: closed.promise, open };
}

testWith("node", startNode, "Node: a WebSocket accepted, its message and its close", async (end) => {
  const { visitor, told, closed, open } = await openSocket(end, "/socket");
  open();
  await closed;
  assert.deepEqual([visitor.status, told], [101, ["hello", "close 4000 bye"]]);
  assert.match(visitor.head, /sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r\n/);
});
testWith("node", startNode, "Node: a WebSocket refused is a plain answer", async (end) => {
  const { visitor } = await openSocket(end, "/other");
  await visitor.until();
  assert.deepEqual([visitor.status, visitor.body, visitor.state], [403, "no", "end"]);
});

testWith("python3", startPython, "Python: plain answers over one connection", testPlain);
testWith("python3", startPython, "Python: chunks with trailers, 1xx, 304, slow bodies", testDynamic);
testWith("python3", startPython, "Python: large bodies both ways", testBodies);
testWith("python3", startPython, "Python: an answer that is cut breaks off, the next request works", testCut);
testWith("python3", startPython, "Python: an answer before the request was read", testRefusedBody);
testWith("python3", startPython, "Python: an answer that ends with the connection", async (end) => {
  assert.deepEqual(await fetchFrom(end, "GET", "/to-close"), [200, "hello"]);
  assert.deepEqual(await fetchFrom(end, "GET", "/hello"), [200, "hello"]);
});

function startDeno(): Promise<RealServer> {
  const routes: Record<string, (request: Request) => Response> = {
    "/hello": () => new Response("hello"),
    "/empty": () => new Response(null, { status: 204 }),
    "/large": () => new Response("x".repeat(3_000_000)),
    "/echo": (request) => new Response(request.body),
    "/events": () => new Response(ReadableStream.from(["a", "b"]).pipeThrough(new TextEncoderStream())),
    "/socket": (request) => {
      const { socket, response } = Deno.upgradeWebSocket(request);
      socket.binaryType = "arraybuffer";
      socket.onmessage = ({ data }) => data === "close" ? socket.close(4000, "bye") : socket.send(data);
      return response;
    },
  };
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => routes[new URL(request.url).pathname]?.(request) ?? new Response(null, { status: 404 }),
  );
  return Promise.resolve({ port: server.addr.port, stop: () => server.shutdown() });
}

testWith(null, startDeno, "Deno: plain answers over one connection", testPlain);
testWith(null, startDeno, "Deno: large bodies both ways, a stream", async (end) => {
  await testBodies(end);
  assert.deepEqual(await fetchFrom(end, "GET", "/events"), [200, "ab"]);
});
testWith(null, startDeno, "Deno: a WebSocket echoes text, bytes, empty and large messages", async (end) => {
  const { told, closed, open } = await openSocket(end, "/socket");
  const socket = open();
  const large = "é".repeat(200_000);
  socket.send(large);
  socket.send("");
  socket.send(Uint8Array.of(1, 2));
  socket.send("close");
  await closed;
  assert.deepEqual(told, [large, "", Uint8Array.of(1, 2), "close 4000 bye"]);
});

async function startNginxWithBackend(): Promise<RealServer> {
  const backend = await startNode();
  const nginx = await startNginx(backend.port).catch(async (error) => {
    await backend.stop();
    throw error;
  });
  return { port: nginx.port, stop: async () => void await Promise.all([nginx.stop(), backend.stop()]) };
}

testWith("nginx", startNginxWithBackend, "nginx: files and empty answers over one connection", testPlain);
testWith("nginx", startNginxWithBackend, "nginx: a large file, a proxied chunked answer", async (end) => {
  assert.equal((await fetchFrom(end, "GET", "/large"))[1].length, 3_000_000);
  assert.deepEqual(await fetchFrom(end, "GET", "/backend/chunked"), [200, "hello"]);
  assert.equal((await fetchFrom(end, "GET", "/backend/large-chunked"))[1].length, 3_000_000);
});
testWith(
  "nginx",
  startNginxWithBackend,
  "nginx: a body beyond its limit is answered before it is read",
  async (end) => {
    assert.equal((await post(end, "/hello", "x".repeat(2000), false)).status, 413);
    assert.deepEqual(await fetchFrom(end, "GET", "/hello"), [200, "hello"]);
  },
);
testWith("nginx", startNginxWithBackend, "nginx: a kept connection that it closes is replaced", async (end) => {
  assert.deepEqual(await fetchFrom(end, "GET", "/hello"), [200, "hello"]);
  // Its keepalive_timeout is one second.
  await new Promise((resolve) => setTimeout(resolve, 1200));
  assert.deepEqual(await fetchFrom(end, "GET", "/hello"), [200, "hello"]);
  assert.equal(end.opened(), 2);
});

Deno.test("https with a self-signed certificate is reached", async () => {
  const read = (name: string) =>
    readFileSync(new URL(`../../net/connection/testdata/${name}`, import.meta.url), "utf8");
  const server = createServer(
    { key: read("self_signed.key"), cert: read("self_signed.pem") },
    (_request, response) => response.end("hello"),
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(address !== null && typeof address === "object");
  await withUpstream(new URL(`https://127.0.0.1:${address.port}`), async (end) => {
    assert.deepEqual(await fetchFrom(end, "GET", "/"), [200, "hello"]);
    assert.deepEqual(await fetchFrom(end, "GET", "/"), [200, "hello"]);
    assert.equal(end.opened(), 1);
  });
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});
