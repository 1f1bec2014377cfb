import assert from "node:assert/strict";
import { acceptFor } from "../../net/websocket/mod.ts";
import { END, FrameType, UPGRADE } from "../../protocol/frames.ts";
import { GoAwayReason, type RequestStream } from "../../protocol/mod.ts";
import { latin1, scriptConnect, type ScriptedConnection, settle } from "../../net/upstream/_script.ts";
import type { TokenSource } from "../api/mod.ts";
import { openSession, type SessionOptions } from "./session.ts";
import type { Target } from "./target.ts";
import { runTunnel } from "./tunnel.ts";
import { createUpstream } from "./upstream.ts";

const target: Target = { name: "none", handle: () => assert.fail("nobody asks"), close: () => Promise.resolve() };
const tunnel = { id: "id", secret: "secret", url: "http://a.example", expiresAt: Date.now() + 60_000 };
const server = new URL("http://127.0.0.1:1");

/** Answers a session's handshake as the relay does, with `more` right behind it. */
async function accept(connections: ScriptedConnection[], more: Uint8Array = new Uint8Array(0)): Promise<void> {
  await settle();
  const connection = connections.at(-1)!;
  const key = /sec-websocket-key: (.*)\r\n/.exec(connection.text)![1];
  const head = `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n` +
    `sec-websocket-protocol: portway.v1\r\nsec-websocket-accept: ${acceptFor(key)}\r\n\r\n`;
  connection.send(Uint8Array.of(...new TextEncoder().encode(head), ...more));
  connection.written.length = 0;
}

const CLOSE = Uint8Array.of(0x88, 0);

function open(options: Partial<Pick<SessionOptions, "target" | "events">> = {}) {
  const script = scriptConnect();
  const ends: unknown[] = [];
  const session = openSession({
    ...script,
    server,
    tunnel,
    target,
    signal: new AbortController().signal,
    events: {},
    ...options,
    onGoAway: (reason, text) => ends.push(["away", reason, text]),
    onEnd: (reason, text) => ends.push([reason, text]),
  });
  return { ...script, session, ends };
}

/** A session that has sent its own PING, to which no answer comes. */
async function openQuiet() {
  const { connections, session, ends } = open();
  await accept(connections);
  const running = await session;
  await settle();
  connections[0].written.length = 0;
  return { connection: connections[0], running, ends };
}

Deno.test("a session's handshake names tunnel, secret and subprotocol", async () => {
  const { connections, session } = open();
  await settle();
  const [{ text }] = connections;
  assert.match(text, /^GET \/api\/v1\/session HTTP\/1\.1\r\nhost: 127\.0\.0\.1:1\r\n/);
  for (const line of ["authorization: Bearer secret", "portway-tunnel: id", "sec-websocket-protocol: portway.v1"]) {
    assert(text.includes(`\r\n${line}\r\n`), line);
  }
  await accept(connections);
  (await session).close();
});

Deno.test("a server that is no relay, or answers the handshake wrongly, is told apart", async () => {
  for (
    const answer of [
      "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi",
      "HTTP/1.1 101 X\r\nupgrade: websocket\r\nsec-websocket-accept: no\r\n\r\n",
      "SSH-2.0-OpenSSH\r\n",
    ]
  ) {
    const { connections, session } = open();
    await settle();
    connections[0].send(answer);
    await assert.rejects(session, { name: "ApiRefused", message: "http://127.0.0.1:1 is not a Portway server" });
    assert(connections[0].closed);
  }
});

Deno.test("a pong and a message never go out at the same time", async () => {
  const { connection, running } = await openQuiet();
  connection.holdWrites = true;
  connection.send(Uint8Array.of(0x89, 1, 65));
  await settle();
  assert.equal(connection.written.length, 1, "the pong is on its way");
  // A PING of the session's own, whose answer is a message.
  connection.send(Uint8Array.of(0x82, 18, 0, 0, 0, 8, 7, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8));
  await settle();
  assert.deepEqual([connection.written.length, connection.overlapped], [1, false]);
  connection.letWrite();
  await settle();
  assert.deepEqual(connection.written.map(([first]) => first), [0x8a, 0x82]);
  assert.equal(connection.overlapped, false);
  running.close();
});

/** A PING of the session's own, in a message. */
const PING = Uint8Array.of(0, 0, 0, 8, 7, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8);

Deno.test("a message in fragments, with control frames between them, is one message", async () => {
  const { connection, running, ends } = await openQuiet();
  connection.send(Uint8Array.of(0x02, 5, ...PING.subarray(0, 5)));
  connection.send(Uint8Array.of(0x89, 1, 65, 0x00, 0));
  connection.send(Uint8Array.of(0x00, 7, ...PING.subarray(5, 12), 0x80, 6, ...PING.subarray(12)));
  connection.send(Uint8Array.of(0x02, 0, 0x80, 18, ...PING));
  await settle();
  assert.deepEqual(ends, []);
  assert.deepEqual(connection.written.map(([first]) => first), [0x8a, 0x82, 0x82]);
  assert.deepEqual(connection.written.slice(1).map(({ length }) => length), [6 + PING.length, 6 + PING.length]);
  running.close();
});

/** One message of a relay, whatever its size. */
function message(...frames: [type: number, flags: number, payload: Uint8Array][]): Uint8Array {
  const size = frames.reduce((sum, [, , payload]) => sum + 10 + payload.length, 0);
  const bytes = new Uint8Array(10 + size), view = new DataView(bytes.buffer);
  bytes.set([0x82, 127]);
  view.setUint32(6, size);
  let at = 10;
  for (const [type, flags, payload] of frames) {
    view.setUint32(at, payload.length);
    bytes.set([type, flags], at + 4);
    view.setUint32(at + 6, 1);
    bytes.set(payload, at + 10);
    at += 10 + payload.length;
  }
  return bytes;
}

Deno.test("what waits for a slow local service is not written over by the messages that follow", async () => {
  const service = scriptConnect();
  const slow = createUpstream({ url: new URL("http://127.0.0.1:9"), connect: service.connect, hostHeader: null });
  const asked: string[] = [];
  const { connections, session } = open({ target: slow, events: { onRequest: ({ path }) => asked.push(path) } });
  await accept(connections);
  const head = "PUT /first HTTP/1.1\r\nhost: a.example\r\ncontent-length: 60000\r\n\r\n";
  connections[0].send(message([FrameType.request, 0, latin1(head)]));
  await settle();
  const [connection] = service.connections;
  connection.holdWrites = true;
  for (const [letter, flags] of [["A", 0], ["B", 0], ["C", END]] as const) {
    connections[0].send(message([FrameType.data, flags, latin1(letter.repeat(20_000))]));
    await settle();
  }
  connection.letWrite();
  await settle();
  const body = connection.text.slice(-60_000);
  assert(body === "A".repeat(20_000) + "B".repeat(20_000) + "C".repeat(20_000), "the body changed on its way");
  connection.send("HTTP/1.1 204 No Content\r\n\r\n");
  await settle();
  assert.deepEqual(asked, ["/first"]);
  (await session).close();
  await slow.close();
});

const broken: [name: string, bytes: Uint8Array][] = [
  ["a masked frame", Uint8Array.of(0x82, 0x80, 0, 0, 0, 0)],
  ["an extension's bit", Uint8Array.of(0xc2, 0)],
  ["a fragment without a beginning", Uint8Array.of(0x80, 0)],
  ["a message amid another", Uint8Array.of(0x02, 1, 0, 0x82, 1, 0)],
  ["a text message", Uint8Array.of(0x81, 1, 65)],
  ["a ping in fragments", Uint8Array.of(0x09, 1, 65)],
  ["a ping that is too long", Uint8Array.of(0x89, 126, 0, 126, ...new Uint8Array(126))],
  ["an unknown opcode", Uint8Array.of(0x83, 0)],
  ["an unknown control opcode", Uint8Array.of(0x8b, 0)],
  ["a length beyond any number", Uint8Array.of(0x82, 127, ...new Uint8Array(8).fill(255))],
];

for (const [name, bytes] of broken) {
  Deno.test(`a session ends at ${name}`, async () => {
    const { connections, session, ends } = open();
    await accept(connections, bytes);
    await session;
    await settle();
    assert.equal(ends.length, 1);
    assert.equal((ends[0] as unknown[])[0], GoAwayReason.lost);
  });
}

Deno.test("a session ends by protocolError, and says so, at a frame that breaks the protocol", async () => {
  const { connections, session, ends } = open();
  await accept(connections, Uint8Array.of(0x82, 4, 255, 0, 0, 0));
  await session;
  await settle();
  assert.deepEqual(ends, [[GoAwayReason.protocolError, "a frame of 4278190080 bytes is too large"]]);
  assert.match(connections[0].text, /too large/);
});

for (const size of [32_767, 32_768, 32_769, 65_535]) {
  Deno.test(`a head of ${size} bytes is answered like any other`, async () => {
    const service = scriptConnect();
    const target = createUpstream({ url: new URL("http://127.0.0.1:9"), connect: service.connect, hostHeader: null });
    const { connections, session, ends } = open({ target });
    await accept(connections);
    const fields = "GET / HTTP/1.1\r\nhost: a.example\r\nx: ";
    const head = `${fields}${"x".repeat(size - fields.length - 4)}\r\n\r\n`;
    connections[0].send(message([FrameType.request, END, latin1(head)]));
    await settle();
    assert.equal(service.connections[0].text, head);
    assert.deepEqual(ends, []);
    (await session).close();
    await target.close();
  });
}

Deno.test("a message without an end is taken frame by frame, and holds no memory", async () => {
  const service = scriptConnect();
  const target = createUpstream({ url: new URL("http://127.0.0.1:9"), connect: service.connect, hostHeader: null });
  const { connections, session, ends } = open({ target });
  await accept(connections);
  const [connection] = connections;
  const reads: number[] = [];
  const { read } = connection;
  connection.read = (into) => (reads.push(into.buffer.byteLength), read.call(connection, into));
  const unfinished = message([FrameType.request, 0, latin1("PUT / HTTP/1.1\r\nhost: a.example\r\n\r\n")]);
  unfinished[0] = 0x02;
  connection.send(unfinished);
  await settle();
  for (let count = 0; count < 150; count++) {
    const piece = message([FrameType.data, 0, new Uint8Array(40_000)]);
    piece[0] = 0x00;
    connection.send(piece);
    await settle();
  }
  assert.deepEqual(ends, []);
  assert(service.connections[0].text.length > 6_000_000);
  assert(Math.max(...reads) <= 256 * 1024, `reads into ${Math.max(...reads)} bytes`);
  (await session).close();
  await target.close();
});

Deno.test("a session that drains asks for no more, and waits for the answers under way but not for upgrades", async () => {
  const asked: RequestStream[] = [];
  const handler = { onData() {}, onReset() {} };
  const collecting: Target = {
    ...target,
    handle: ({ stream }) => (asked.push(stream), handler),
  };
  const { connections, session } = open({ target: collecting });
  await accept(connections);
  const running = await session;
  const [connection] = connections;
  connection.written.length = 0;
  const request = latin1("GET / HTTP/1.1\r\nhost: a.example\r\n\r\n");
  connection.send(message([FrameType.request, END, request]));
  connection.send(message([FrameType.request, UPGRADE, request]).with(19, 2));
  await settle();
  const nothing = new Uint8Array(0);
  asked[1].respond(101, nothing, 0, 0, nothing, 0, 0, false);
  let isDrained = false;
  const draining = running.drain(new AbortController().signal).then(() => isDrained = true);
  await settle();
  assert.equal(isDrained, false);
  assert.match(connection.text, /the client is being stopped/);
  asked[0].respond(200, nothing, 0, 0, nothing, 0, 0, true);
  await draining;
  running.close();
});

Deno.test("a tunnel whose session ends right behind its handshake connects again", async () => {
  const script = scriptConnect();
  const stop = new AbortController();
  const reconnecting = Promise.withResolvers<string>();
  let connected = 0;
  const running = runTunnel({
    ...script,
    server,
    tunnel,
    target,
    signal: stop.signal,
    events: {
      onConnected: () => connected++,
      onDraining() {},
      onReconnecting: (reason) => reconnecting.resolve(reason),
    },
  });
  await accept(script.connections, CLOSE);
  assert.equal(await reconnecting.promise, "the server closed the connection");
  assert.equal(connected, 1);
  stop.abort();
  assert.equal((await running).cause, "stopped");
});

Deno.test("a tunnel whose new connection is never answered gives it up and tries again", async () => {
  const script = scriptConnect();
  const stop = new AbortController();
  const reasons: string[] = [];
  let reconnecting = Promise.withResolvers<void>();
  const connectedAgain = Promise.withResolvers<void>();
  const running = runTunnel({
    ...script,
    server,
    tunnel,
    target,
    signal: stop.signal,
    timeoutMs: 300,
    events: {
      onConnected: () => reasons.length > 0 && connectedAgain.resolve(),
      onDraining() {},
      onReconnecting(reason) {
        reasons.push(reason);
        reconnecting.resolve();
        reconnecting = Promise.withResolvers();
      },
    },
  });
  const first = reconnecting.promise;
  await accept(script.connections, CLOSE);
  await first;
  // The second connection stays silent.
  await reconnecting.promise;
  await script.whenConnected(3);
  await accept(script.connections);
  await connectedAgain.promise;
  assert.equal(reasons[1], "cannot reach the server http://127.0.0.1:1: no response within 0.3 seconds");
  assert.deepEqual(script.connections.map(({ closed }) => closed).slice(1), [true, false]);
  stop.abort();
  assert.equal((await running).cause, "stopped");
});

/** A user's tokens: each may be renewed once, and the last not at all. */
function tokensInRow(...row: string[]): TokenSource {
  return {
    current: () => Promise.resolve(row[0]),
    renew: (refused) => Promise.resolve(row[row.indexOf(refused) + 1] ?? null),
    explainRefused: () => "log in again",
  };
}

const UNAUTHORIZED = '{"error":{"code":"token_invalid","message":"No."}}';
const unauthorized = `HTTP/1.1 401 X\r\ncontent-length: ${UNAUTHORIZED.length}\r\n\r\n${UNAUTHORIZED}`;

Deno.test("a session whose user's token is not taken asks with a new one, and ends where there is none", async () => {
  for (const [row, opens] of [[["t1", "t2"], true], [["t1"], false]] as const) {
    const script = scriptConnect();
    const opening = openSession({
      ...script,
      server,
      tunnel: { id: "id", secret: tokensInRow(...row), expiresAt: null },
      port: 4000,
      target,
      signal: new AbortController().signal,
      events: {},
      onGoAway() {},
      onEnd() {},
    });
    const ended = opens ? opening : assert.rejects(opening, { name: "LoginNeeded", message: "log in again" });
    await script.whenConnected(1);
    await settle();
    assert.match(script.connections[0].text, /\r\nauthorization: Bearer t1\r\n/);
    script.connections[0].send(unauthorized);
    if (opens) {
      await script.whenConnected(2);
      await settle();
      assert.match(script.connections[1].text, /\r\nauthorization: Bearer t2\r\n[^]*\r\nportway-port: 4000\r\n/);
      await accept(script.connections);
    }
    const session = await ended;
    session?.close();
  }
});

for (
  const [status, code, end] of [
    [410, "tunnel_traffic_exhausted", "exhausted"],
    [410, "tunnel_expired", "expired"],
    [404, "tunnel_not_found", "refused"],
  ] as const
) {
  Deno.test(`a tunnel that is ${end}, and hears of it only when it connects again, ends as that`, async () => {
    const script = scriptConnect();
    const events = { onConnected() {}, onRequest() {}, onDraining() {}, onReconnecting() {} };
    const { signal } = new AbortController();
    const running = runTunnel({ ...script, server, tunnel, target, signal, events });
    await accept(script.connections, CLOSE);
    await script.whenConnected(2);
    const body = JSON.stringify({ error: { code, message: "so it is" } });
    script.connections[1].send(latin1(`HTTP/1.1 ${status} x\r\ncontent-length: ${body.length}\r\n\r\n${body}`));
    assert.equal((await running).cause, end);
  });
}

Deno.test("a tunnel whose first connection is never answered says so, and ends", async () => {
  const script = scriptConnect();
  const events = { onConnected() {}, onRequest() {}, onDraining() {}, onReconnecting() {} };
  const { signal } = new AbortController();
  await assert.rejects(runTunnel({ ...script, server, tunnel, target, signal, timeoutMs: 50, events }), {
    name: "ApiUnreachable",
    message: "cannot reach the server http://127.0.0.1:1: no response within 0.05 seconds",
  });
  assert(script.connections[0].closed);
});
