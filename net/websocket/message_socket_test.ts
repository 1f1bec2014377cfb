import assert from "node:assert/strict";
import { createConnectionPair } from "../connection/mod.ts";
import { join, settle, writeFrame } from "./_test_frames.ts";
import { acceptWebSocket, MessageSocket, Opcode } from "./mod.ts";

/** Opens two ends that record their messages. */
function createSockets(maxMessageBytes = 1000) {
  const [one, other] = createConnectionPair();
  const told: string[] = [];
  const options = (name: string) => ({
    maxMessageBytes,
    onMessage: (data: string | Uint8Array) => void told.push(`${name} ${typeof data} ${data}`),
    onClose: (code: number, reason: string) => void told.push(`${name} closed ${code} ${reason}`),
  });
  const server = new MessageSocket({ ...options("server"), connection: one, masking: "bare" });
  const client = new MessageSocket({ ...options("client"), connection: other, masking: "random" });
  return { server, client, told };
}

Deno.test("MessageSocket carries texts and bytes both ways, in order, empty ones too", async () => {
  const { server, client, told } = createSockets();
  client.send("héllo");
  client.send(new Uint8Array(0));
  client.send("");
  server.send(Uint8Array.of(1, 2));
  await settle();
  assert.deepEqual(told.sort(), ["client object 1,2", "server object ", "server string ", "server string héllo"]);
  assert.deepEqual([server.bufferedAmount, client.bufferedAmount], [0, 0]);
  server.close();
  await settle();
});

for (const by of ["server", "client"] as const) {
  Deno.test(`MessageSocket reports code and reason of a close by the ${by} once, after all messages`, async () => {
    const sockets = createSockets();
    const other = by === "server" ? "client" : "server";
    sockets[by].send("last");
    sockets[by].close(4001, "söon");
    sockets[by].close(4002, "");
    sockets[by].send("late");
    await settle();
    const expected = [`${other} string last`, `${other} closed 4001 söon`, `${by} closed 4001 söon`];
    assert.deepEqual(sockets.told.sort(), expected.sort());
  });
}

Deno.test("MessageSocket reports 1005 for a close without a code, 1006 for a broken connection", async () => {
  const { client, told } = createSockets();
  client.close();
  await settle();
  assert.deepEqual(told.sort(), ["client closed 1005 ", "server closed 1005 "]);
  const { peer, told: broken } = createServer();
  peer.close();
  await settle();
  assert.deepEqual(broken, ["closed 1006"]);
});

/** Opens a server's end whose peer is the test. */
function createServer(maxMessageBytes = 100, onMessage?: () => Promise<void>) {
  const [connection, peer] = createConnectionPair();
  const told: string[] = [];
  const socket = new MessageSocket({
    connection,
    masking: "bare",
    maxMessageBytes,
    onMessage: (data) => (told.push(String(data)), onMessage?.()),
    onClose: (code) => void told.push(`closed ${code}`),
  });
  return { socket, peer, told };
}

const masked = (opcode: Opcode, payload: Uint8Array, fin = true) => writeFrame(opcode, payload, fin, "random");

Deno.test("MessageSocket joins fragments, with or without pings between them", async () => {
  const { peer, told } = createServer();
  await peer.write(join([
    masked(Opcode.text, Uint8Array.of(65), false),
    masked(Opcode.ping, Uint8Array.of(9)),
    masked(Opcode.continuation, Uint8Array.of(66), false),
    masked(Opcode.continuation, new Uint8Array(0)),
  ]));
  const pong = new Uint8Array(10);
  assert.equal(await peer.read(pong), 3);
  await settle();
  assert.deepEqual([told, pong.subarray(0, 3)], [["AB"], Uint8Array.of(0x8a, 1, 9)]);
  peer.close();
});

const refused: [name: string, bytes: Uint8Array, code: number][] = [
  ["a message beyond the limit, at its head", Uint8Array.of(0x82, 0xe5, 0, 0, 0, 0), 1009],
  [
    "fragments beyond the limit",
    join([masked(Opcode.binary, new Uint8Array(60), false), masked(Opcode.continuation, new Uint8Array(60), false)]),
    1009,
  ],
  ["a text that is no UTF-8", masked(Opcode.text, Uint8Array.of(0xff)), 1007],
  ["a frame out of turn", masked(Opcode.continuation, Uint8Array.of(1)), 1002],
  ["a close code that may not be sent", masked(Opcode.close, Uint8Array.of(3, 0xed)), 1002],
];

for (const [name, bytes, code] of refused) {
  Deno.test(`MessageSocket closes with ${code} at ${name}`, async () => {
    const { peer, told } = createServer();
    void peer.write(bytes).catch(() => {});
    const answer = new Uint8Array(200);
    const count = await peer.read(answer);
    assert(count !== null && count > 3);
    assert.deepEqual([answer[0], answer[2] << 8 | answer[3]], [0x88, code]);
    assert.equal(await peer.read(answer), null);
    assert.deepEqual(told, ["closed 1006"]);
  });
}

Deno.test("MessageSocket queues one pong at most for a peer that pings and does not read", async () => {
  const { socket, peer } = createServer();
  for (let count = 0; count < 1000; count++) await peer.write(masked(Opcode.ping, new Uint8Array(100)));
  await settle();
  assert(socket.bufferedAmount < 300, `${socket.bufferedAmount} bytes wait`);
  peer.close();
});

Deno.test("MessageSocket continues reading only after its owner has processed a message", async () => {
  let take = () => {};
  const { peer, told } = createServer(100, () => new Promise((resolve) => take = resolve));
  await peer.write(masked(Opcode.text, Uint8Array.of(65)));
  await settle();
  let isRead = false;
  const second = peer.write(masked(Opcode.text, Uint8Array.of(66))).then(() => isRead = true);
  await settle();
  assert.deepEqual([told, isRead], [["A"], false]);
  take();
  await second;
  await settle();
  assert.deepEqual(told, ["A", "B"]);
  peer.close();
  take();
});

Deno.test("acceptWebSocket responds to a handshake with its proof and the protocol", () => {
  const [connection] = createConnectionPair();
  let block = "";
  const exchange = {
    isWebSocket: true,
    header: (name: string) => name === "sec-websocket-key" ? "dGhlIHNhbXBsZSBub25jZQ==" : null,
    response: { switchProtocols: (bytes: Uint8Array) => (block = new TextDecoder().decode(bytes), connection) },
  };
  assert.equal(acceptWebSocket(exchange, "portway.v1"), connection);
  assert.equal(
    block,
    "Switching Protocols\r\nupgrade: websocket\r\nsec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nsec-websocket-protocol: portway.v1\r\n",
  );
  assert.throws(() => acceptWebSocket({ ...exchange, isWebSocket: false }), TypeError);
});
