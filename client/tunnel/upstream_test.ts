import assert from "node:assert/strict";
import { Opening, ResetReason } from "../../protocol/mod.ts";
import { ConnectError } from "../../net/connection/mod.ts";
import { createRelayEnd } from "./_relay_end.ts";
import { latin1, scriptConnect, ScriptedConnection, settle } from "../../net/upstream/_script.ts";
import { createUpstream } from "./upstream.ts";

const head = (method: string, fields = "") => `${method} /x HTTP/1.1\r\nhost: a.example\r\n${fields}\r\n`;
const GET = head("GET");

function start() {
  const script = scriptConnect();
  const changes: boolean[] = [];
  const target = createUpstream({
    url: new URL("http://localhost:3000"),
    connect: script.connect,
    hostHeader: "localhost:3000",
    onReachable: (reachable) => changes.push(reachable),
  });
  return { ...script, ...createRelayEnd(target), changes, stop: () => target.close() };
}

/** What a service sends, and what the visitor must get: the same however the bytes are cut. */
const answers: [name: string, bytes: string, body: string, keepsAlive: boolean, method?: string][] = [
  ["a length", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", "hello", true],
  ["no body", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", "", true],
  ["204", "HTTP/1.1 204 No Content\r\n\r\n", "", true],
  ["304 with a length", "HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n", "", true],
  ["HEAD", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n", "", true, "HEAD"],
  [
    "chunks",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n",
    "hello",
    true,
  ],
  ["trailers", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\na: b\r\n\r\n", "hello", true],
  ["interim answers", "HTTP/1.1 103 Early\r\na: b\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi", "hi", true],
  ["connection: close", "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi", "hi", false],
  ["HTTP/1.0", "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi", "hi", false],
  ["bytes behind the body", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\n\r\n", "hi", false],
  ["bytes behind the last chunk", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nx", "", false],
  ["a body behind 204", "HTTP/1.1 204 No Content\r\n\r\nx", "", false],
];

for (const [name, bytes, body, keepsAlive, method = "GET"] of answers) {
  Deno.test(`an answer with ${name} is the same wherever it is cut`, async () => {
    for (let cut = 1; cut <= bytes.length; cut++) {
      const { connections, visit, client, relay, stop } = start();
      const visitor = visit(head(method));
      await settle();
      connections[0].send(bytes.slice(0, cut));
      await settle();
      if (cut < bytes.length) connections[0].send(bytes.slice(cut));
      await visitor.until();
      await settle();
      assert.deepEqual([visitor.state, visitor.body], ["end", body], `cut at ${cut}`);
      assert.deepEqual([relay.size, client.size], [0, 0]);
      // Where the rest came later than the answer, it is the idle connection that is found disturbed.
      assert.equal(!connections[0].closed, keepsAlive, `cut at ${cut}: kept`);
      await stop();
    }
  });
}

Deno.test("an answer that ends with the connection is passed on as it comes", async () => {
  const { connections, visit, stop } = start();
  const visitor = visit(GET);
  await settle();
  connections[0].send("HTTP/1.1 200 OK\r\n\r\nfirst ");
  await visitor.until(({ body }) => body === "first ");
  connections[0].send("second");
  await visitor.until(({ body }) => body === "first second");
  connections[0].end();
  assert.equal((await visitor.until()).state, "end");
  assert(connections[0].closed);
  await stop();
});

for (const framing of ["content-length: 100", "transfer-encoding: chunked"]) {
  Deno.test(`an answer with ${framing} that pauses is passed on as far as it is there, within moments`, async () => {
    const { connections, visit, stop } = start();
    const visitor = visit(GET);
    await settle();
    connections[0].send(`HTTP/1.1 200 OK\r\n${framing}\r\n\r\n${framing.startsWith("t") ? "3\r\n" : ""}abc`);
    await visitor.until(({ body }) => body === "abc");
    assert.equal(visitor.state, "open");
    connections[0].end();
    const { state } = await visitor.until();
    assert.equal(state, `reset ${ResetReason.broken}: it closed the connection before its response was complete`);
    await stop();
  });
}

Deno.test("a service that sees the public Host sees and says all else as it is", async () => {
  const fields = "origin: https://a.example\r\nreferer: https://a.example/\r\nx-forwarded-host: a.example\r\n";
  for (
    const [hostHeader, seen, said] of [
      [null, `host: a.example\r\n${fields}`, "http://localhost:3000/"],
      [
        "localhost:3000",
        "host: localhost:3000\r\n" +
        fields.replaceAll("https://a.example", "http://localhost:3000").replace("a.example", "localhost:3000"),
        "http://a.example/",
      ],
    ]
  ) {
    const script = scriptConnect();
    const target = createUpstream({ url: new URL("http://localhost:3000"), connect: script.connect, hostHeader });
    const visitor = createRelayEnd(target).visit(head("GET", fields));
    await settle();
    assert.equal(script.connections[0].text, `GET /x HTTP/1.1\r\n${seen}\r\n`);
    script.connections[0].send("HTTP/1.1 302 Found\r\nlocation: http://localhost:3000/\r\ncontent-length: 0\r\n\r\n");
    await visitor.until();
    assert.equal(visitor.head, `Found\r\nlocation: ${said}\r\ncontent-length: 0\r\n`);
    await target.close();
  }
});

Deno.test("reason phrases, interim answers and trailers travel; 100 Continue does not", async () => {
  const { connections, visit, stop } = start();
  const visitor = visit(GET);
  await settle();
  connections[0].send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\n\r\n");
  await visitor.until(({ interims }) => interims.length > 0);
  connections[0].send(
    "HTTP/1.1 200 Fine, really\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nx-sum: 1\r\nY: \xe9\r\n\r\n",
  );
  await visitor.until();
  assert.deepEqual(visitor.interims, ["103 Early Hints\r\nlink: </a.css>\r\n"]);
  assert.equal(visitor.head, "Fine, really\r\ntransfer-encoding: chunked\r\n");
  assert.deepEqual([visitor.body, visitor.trailers, visitor.state], ["hi", "x-sum: 1\r\nY: \xe9\r\n", "end"]);
  assert.equal(connections[0].closed, false);
  await stop();
});

Deno.test("a request's trailers go out behind its chunks, and nowhere behind a length", async () => {
  for (const [fields, sent] of [["", "2\r\nhi\r\n0\r\nx-sum: 1\r\n\r\n"], ["content-length: 2\r\n", "\r\nhi"]]) {
    const { connections, visit, stop } = start();
    const visitor = visit(head("POST", fields), Opening.withBody);
    await visitor.stream.write(latin1("hi"));
    visitor.stream.end(latin1("x-sum: 1\r\n"));
    await settle();
    assert(connections[0].text.endsWith(`\r\n${sent}`), connections[0].text);
    connections[0].send("HTTP/1.1 204 No Content\r\n\r\n");
    await visitor.until();
    await stop();
  }
});

/** A visitor who was granted an upgrade, with the service's end of it. */
async function upgrade() {
  const running = start();
  const visitor = running.visit(head("GET", "connection: Upgrade\r\nupgrade: x\r\n"), Opening.upgrade);
  await settle();
  const [connection] = running.connections;
  assert.match(connection.text, /\r\nconnection: Upgrade\r\nupgrade: x\r\n/);
  connection.written.length = 0;
  connection.send("HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: Upgrade\r\n\r\nearly");
  await visitor.until(({ body }) => body === "early");
  return { ...running, visitor, connection };
}

Deno.test("an upgrade carries bytes both ways as they are, and each way ends on its own", async () => {
  for (const first of ["visitor", "service"] as const) {
    const { visitor, connection, relay, client, stop } = await upgrade();
    assert.equal(visitor.head, "Switching\r\nupgrade: x\r\nconnection: Upgrade\r\n");
    let ended = 0;
    connection.closeWrite = () => Promise.resolve(void ended++);
    if (first === "service") connection.end();
    await settle();
    await visitor.stream.write(latin1("up\x00\xff"), first === "visitor");
    await settle();
    assert.equal(connection.text, "up\x00\xff");
    assert.deepEqual([connection.closed, ended], [false, first === "visitor" ? 1 : 0]);
    if (first === "visitor") {
      connection.send("down");
      connection.end();
    } else visitor.stream.end();
    await visitor.until();
    await settle();
    assert.deepEqual([visitor.body, visitor.state], [first === "visitor" ? "earlydown" : "early", "end"]);
    assert.deepEqual([connection.closed, relay.size, client.size], [true, 0, 0]);
    await stop();
  }
});

Deno.test("an upgrade whose visitor does not read stops reading the service, and the other way round", async () => {
  const { visitor, connection, stop } = await upgrade();
  const { read } = connection;
  let taken = 0;
  connection.read = async (into) => {
    const count = await read.call(connection, into);
    taken += count ?? 0;
    return count;
  };
  visitor.stream.consumed = () => {};
  for (let count = 0; count < 100; count++) connection.send(new Uint8Array(100_000));
  await settle();
  assert(taken < 300_000, `${taken} bytes were read`);
  connection.holdWrites = true;
  let sent = 0;
  const writing = (async () => {
    for (; sent < 1000; sent++) await visitor.stream.write(new Uint8Array(10_000));
  })().catch(() => {});
  await settle();
  assert(sent < 20, `${sent} pieces were taken`);
  visitor.stream.reset(ResetReason.cancelled);
  await writing;
  await settle();
  assert(connection.closed);
  await stop();
});

Deno.test("a visitor whose upgrade is answered plainly gets that answer, and the connection is kept", async () => {
  const { connections, visit, relay, stop } = start();
  const visitor = visit(head("GET", "connection: Upgrade\r\nupgrade: x\r\n"), Opening.upgrade);
  await settle();
  connections[0].send("HTTP/1.1 426 No\r\ncontent-length: 2\r\n\r\nno");
  await visitor.until();
  await settle();
  assert.deepEqual([visitor.status, visitor.body, connections[0].closed, relay.size], [426, "no", false, 0]);
  await stop();
});

const refused: [name: string, bytes: string][] = [
  ["no HTTP", "SSH-2.0-OpenSSH_9\r\n"],
  ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n"],
  ["a length beside chunks", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n"],
  ["a folded line", "HTTP/1.1 200 OK\r\na: b\r\n c\r\n\r\n"],
  ["more fields than anybody sends", `HTTP/1.1 200 OK\r\n${"a: b\r\n".repeat(257)}\r\n`],
  ["101 nobody asked for", "HTTP/1.1 101 Switching Protocols\r\n\r\n"],
  ["a head too large", `HTTP/1.1 200 OK\r\na: ${"b".repeat(70_000)}\r\n\r\n`],
];

for (const [name, bytes] of refused) {
  Deno.test(`an answer with ${name} is refused as no HTTP and its connection closed`, async () => {
    const { connections, visit, stop } = start();
    const visitor = visit(GET);
    await settle();
    connections[0].send(bytes);
    const { state } = await visitor.until();
    assert(state.startsWith(`reset ${ResetReason.notHttp}: `), state);
    assert(connections[0].closed);
    await stop();
  });
}

Deno.test("a chunk that is malformed in the middle of an answer breaks it off", async () => {
  const { connections, visit, stop } = start();
  const visitor = visit(GET);
  await settle();
  connections[0].send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n");
  await visitor.until(({ body }) => body === "abc");
  connections[0].send("nonsense\r\n");
  assert.match((await visitor.until()).state, /^reset 4: "n" in the size of a chunk/);
  await stop();
});

Deno.test("any number of interim answers takes no more memory than a head", async () => {
  const { connections, visit, stop } = start();
  const visitor = visit(GET);
  await settle();
  const interim = "HTTP/1.1 102 Processing\r\n\r\n".repeat(1000);
  for (let count = 0; count < 100; count++) {
    connections[0].send(interim);
    await settle();
  }
  const reads: number[] = [];
  const { read } = connections[0];
  connections[0].read = (into) => {
    reads.push(into.length);
    return read.call(connections[0], into);
  };
  connections[0].send("HTTP/1.1 102 Processing\r\n\r\n");
  await settle();
  assert(reads.length > 0 && reads.every((size) => size <= 32 * 1024), `reads into ${reads}`);
  connections[0].send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi");
  assert.equal((await visitor.until()).body, "hi");
  await stop();
});

Deno.test("connections are kept for the next request, the Host is the service's", async () => {
  const { connections, visit, stop } = start();
  for (let count = 0; count < 3; count++) {
    const visitor = visit(head("GET", "x: y\r\n"));
    await settle();
    assert.equal(connections[0].text, "GET /x HTTP/1.1\r\nhost: localhost:3000\r\nx: y\r\n\r\n".repeat(count + 1));
    connections[0].send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi");
    assert.equal((await visitor.until()).body, "hi");
  }
  assert.equal(connections.length, 1);
  await stop();
  assert(connections[0].closed);
});

/** A connection that has carried one answer and is idle now. */
async function startIdle() {
  const running = start();
  const visitor = running.visit(GET);
  await settle();
  running.connections[0].send("HTTP/1.1 204 No Content\r\n\r\n");
  await visitor.until();
  await settle();
  return running;
}

Deno.test("an idle connection that the service closes, or talks on, is not used again", async () => {
  for (const disturb of ["end", "HTTP/1.1 408 Timeout\r\n\r\n"]) {
    const { connections, visit, stop } = await startIdle();
    if (disturb === "end") connections[0].end();
    else connections[0].send(disturb);
    await settle();
    assert(connections[0].closed);
    const visitor = visit(GET);
    await settle();
    connections[1].send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi");
    assert.equal((await visitor.until()).body, "hi");
    await stop();
  }
});

Deno.test("a request that an idle connection drops is sent once more if it may be, and only then", async () => {
  for (const [method, again] of [["GET", true], ["DELETE", true], ["POST", false], ["PATCH", false]] as const) {
    const { connections, visit, stop } = await startIdle();
    const visitor = visit(head(method));
    await settle();
    connections[0].end();
    await settle();
    if (again) {
      connections[1].end();
      await settle();
      assert.equal(connections.length, 2, "a fresh connection that drops it is not tried again");
    } else assert.equal(connections.length, 1);
    assert.match((await visitor.until()).state, /^reset 3: it closed the connection/);
    await stop();
  }
});

Deno.test("a request that an idle connection drops waits as its visitor's, behind what they have waiting already", async () => {
  for (const hostHeader of ["localhost:3000", null]) {
    const dials: ((connection: ScriptedConnection) => void)[] = [];
    const connect = () => new Promise<ScriptedConnection>((resolve) => dials.push(resolve));
    const target = createUpstream({ url: new URL("http://localhost:3000"), connect, hostHeader });
    const { visit } = createRelayEnd(target);
    const ask = (visitor: string, name: string) =>
      visit(head("GET", `x-forwarded-for: ${visitor}\r\nx-name: ${name}\r\n`));
    const kept = new ScriptedConnection(), sent: string[] = [];
    const first = ask("192.0.2.1", "first");
    await settle();
    dials.shift()?.(kept);
    await settle();
    kept.send("HTTP/1.1 204 No Content\r\n\r\n");
    await first.until();
    await settle();
    ask("192.0.2.1", "dropped");
    // As many as may be opened at a time, so that whoever comes next waits.
    for (let count = 0; count < 16; count++) ask("192.0.2.9", "opened");
    for (const visitor of ["1", "2"]) for (const name of ["a", "b"]) ask(`192.0.2.${visitor}`, visitor + name);
    await settle();
    kept.end();
    await settle();
    while (dials.length > 0) {
      const connection = new ScriptedConnection();
      dials.shift()?.(connection);
      await settle();
      sent.push(/x-name: (\S+)/.exec(connection.text)?.[1] ?? "");
    }
    assert.deepEqual(sent.filter((name) => name !== "opened"), ["1a", "2a", "1b", "2b", "dropped"]);
    await target.close();
  }
});

Deno.test("a request's body goes out as the head says: by its length, or in chunks", async () => {
  for (
    const [fields, sent] of [
      ["content-length: 5\r\n", "content-length: 5\r\n\r\nhello"],
      ["", "transfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"],
    ]
  ) {
    const { connections, visit, stop } = start();
    const visitor = visit(head("POST", fields), Opening.withBody);
    await settle();
    await visitor.stream.write(latin1("hel"));
    await settle();
    await visitor.stream.write(latin1("lo"), true);
    await settle();
    assert.equal(connections[0].text, `POST /x HTTP/1.1\r\nhost: localhost:3000\r\n${sent}`);
    connections[0].send("HTTP/1.1 204 No Content\r\n\r\n");
    await visitor.until();
    await settle();
    assert.equal(connections[0].closed, false);
    await stop();
  }
});

Deno.test("a body longer or shorter than its length never reaches the service's next request", async () => {
  for (const body of ["abcdef", "abcd"]) {
    const { connections, visit, stop } = start();
    const visitor = visit(head("POST", "content-length: 5\r\n"), Opening.withBody);
    await settle();
    await visitor.stream.write(latin1(body), true);
    assert.match((await visitor.until()).state, /^reset 3: the body is (longer|shorter) than its Content-Length/);
    assert(connections[0].closed);
    assert(!connections[0].text.endsWith("f"));
    await stop();
  }
});

Deno.test("a service whose head does not end is given up, with no more of it held than a head may have", async () => {
  const { connections, visit, stop } = start();
  const visitor = visit(GET);
  await settle();
  connections[0].send("HTTP/1.1 200 OK\r\n");
  await settle();
  for (let sent = 0; sent < 160 && visitor.state === "open"; sent++) {
    connections[0].send("a: ".padEnd(1000, "b"));
    await settle();
  }
  assert.match(visitor.state, /^reset \d: The head is longer than 65536 bytes/);
  assert(connections[0].closed);
  await stop();
});

Deno.test("an answer that came before the service stopped reading still arrives", async () => {
  const { connections, visit, relay, client, stop } = start();
  const visitor = visit(head("POST", "content-length: 500000\r\n"), Opening.withBody);
  await settle();
  connections[0].failWrites = true;
  const writing = visitor.stream.write(new Uint8Array(500_000), true).catch(() => {});
  await settle();
  connections[0].send("HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno");
  connections[0].end();
  await visitor.until();
  assert.deepEqual([visitor.status, visitor.body, visitor.state], [413, "no", "end"]);
  await writing;
  await settle();
  assert.deepEqual([relay.size, client.size, connections[0].closed], [0, 0, true]);
  await stop();
});

Deno.test("an answer before the request's end closes the connection and stops the upload", async () => {
  const { connections, visit, relay, client, stop } = start();
  const visitor = visit(head("POST"), Opening.withBody);
  await settle();
  connections[0].send("HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno");
  await visitor.until();
  await settle();
  assert.deepEqual([visitor.status, visitor.body, relay.size, client.size], [413, "no", 0, 0]);
  assert(connections[0].closed);
  await stop();
});

Deno.test("a visitor who leaves closes the connection to the service", async () => {
  const { connections, visit, client, stop } = start();
  const visitor = visit(GET);
  await settle();
  visitor.stream.reset(ResetReason.cancelled);
  await settle();
  assert.deepEqual([connections[0].closed, client.size], [true, 0]);
  await stop();
});

Deno.test("a service that is down is told once, and told again when it comes up", async () => {
  let isUp = false;
  const script = scriptConnect();
  const changes: string[] = [];
  const target = createUpstream({
    url: new URL("http://localhost:3000"),
    connect: (options) => isUp ? script.connect(options) : Promise.reject(new ConnectError("refused", "refused")),
    hostHeader: null,
    onReachable: (reachable, reason) => changes.push(`${reachable} ${reason}`),
  });
  const { visit } = createRelayEnd(target);
  for (let count = 0; count < 2; count++) {
    assert.equal((await visit(GET).until()).state, "reset 2: It is not running, or it refuses connections.");
  }
  isUp = true;
  const visitor = visit(GET);
  await settle();
  assert.match(script.connections[0].text, /\r\nhost: a\.example\r\n/);
  script.connections[0].send("HTTP/1.1 204 No Content\r\n\r\n");
  await visitor.until();
  assert.deepEqual(changes, ["false refused", "true "]);
  await target.close();
});

Deno.test("of a burst a few open connections, the others take turns for what comes free, and who leaves waits no longer", async () => {
  const script = scriptConnect(), { connections } = script;
  const dials: (() => void)[] = [];
  const target = createUpstream({
    url: new URL("http://localhost:3000"),
    async connect(options) {
      await new Promise<void>((resolve) => dials.push(resolve));
      return await script.connect(options);
    },
    hostHeader: null,
  });
  const { visit, client } = createRelayEnd(target);
  const ask = (visitor: string, path: string) =>
    visit(`GET ${path} HTTP/1.1\r\nhost: a.example\r\nx-forwarded-for: ${visitor}\r\n\r\n`);
  const many = Array.from({ length: 19 }, (_, index) => ask("192.0.2.1", `/many/${index}`));
  const one = ask("192.0.2.2", "/one");
  await settle();
  assert.equal(dials.length, 16);
  many[16].stream.reset(ResetReason.cancelled);
  await settle();
  assert.equal(client.size, 19);
  dials[0]();
  await settle();
  assert.equal(dials.length, 17);
  connections[0].send("HTTP/1.1 204 No Content\r\n\r\n");
  await settle();
  assert.match(connections[0].text, /^GET \/many\/0 [^]*GET \/one /);
  dials[16]();
  await settle();
  assert.match(connections[1].text, /^GET \/many\/17 /);
  connections[0].send("HTTP/1.1 204 No Content\r\n\r\n");
  await one.until();
  await target.close();
});
