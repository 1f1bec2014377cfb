import assert from "node:assert/strict";
import { GoAwayReason } from "../../protocol/mod.ts";
import { settle } from "./_relay_end.ts";
import { scriptConnect, type ScriptedConnection } from "./_script.ts";
import { openSession } from "./session.ts";
import type { Target } from "./target.ts";
import { runTunnel } from "./tunnel.ts";
import { acceptFor } from "./websocket.ts";

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

function open() {
  const script = scriptConnect();
  const ends: unknown[] = [];
  const session = openSession({
    ...script,
    server,
    tunnel,
    target,
    signal: new AbortController().signal,
    onRequest() {},
    onGoAway: (reason, text) => ends.push(["away", reason, text]),
    onEnd: (reason, text) => ends.push([reason, text]),
  });
  return { ...script, session, ends };
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
    await assert.rejects(session, { name: "RelayRefused", message: "http://127.0.0.1:1 is not a Portway server" });
    assert(connections[0].closed);
  }
});

Deno.test("a pong and a message never go out at the same time", async () => {
  const { connections, session } = open();
  await accept(connections);
  const running = await session;
  const [connection] = connections;
  connection.holdWrites = true;
  connection.send(Uint8Array.of(0x89, 1, 65));
  await settle();
  assert.equal(connection.written.length, 1, "the pong is on its way");
  // A PING of the session's own, whose answer is a message.
  connection.send(Uint8Array.of(0x82, 18, 0, 0, 0, 8, 8, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8));
  await settle();
  assert.deepEqual([connection.written.length, connection.overlapped], [1, false]);
  connection.letWrite();
  await settle();
  assert.deepEqual(connection.written.map(([first]) => first), [0x8a, 0x82]);
  assert.equal(connection.overlapped, false);
  running.close();
});

const broken: [name: string, bytes: Uint8Array][] = [
  ["a masked frame", Uint8Array.of(0x82, 0x80, 0, 0, 0, 0)],
  ["an extension's bit", Uint8Array.of(0xc2, 0)],
  ["a message beyond the limit", Uint8Array.of(0x82, 127, 0, 0, 0, 0, 0x40, 0, 0, 0)],
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
  await accept(connections, Uint8Array.of(0x82, 3, 0, 0, 0));
  await session;
  await settle();
  assert.deepEqual(ends, [[GoAwayReason.protocolError, "a frame head was cut short"]]);
  assert.match(connections[0].text, /a frame head was cut short/);
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
      onRequest() {},
      onReconnecting: (reason) => reconnecting.resolve(reason),
    },
  });
  await accept(script.connections, CLOSE);
  assert.equal(await reconnecting.promise, "the server closed the connection");
  assert.equal(connected, 1);
  stop.abort();
  assert.equal(await running, "stopped");
});
