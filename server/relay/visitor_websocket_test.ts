import assert from "node:assert/strict";
import { GoAwayReason, MAX_WEBSOCKET_MESSAGE, ResetReason } from "../../protocol/mod.ts";
import { createPair, respond, settle } from "./_client_end.ts";
import { createExchange, createSocket } from "./_fake_exchange.ts";
import { WebSocketVisitor } from "./visitor_websocket.ts";

const HEAD = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";

async function visit() {
  const pair = createPair();
  const exchange = createExchange({ webSocket: true });
  const visitor = new WebSocketVisitor(exchange, { meter() {}, gate: () => null });
  visitor.start(pair.relay.open(HEAD, { end: false, webSocket: true }, visitor)!);
  await settle();
  return { ...pair, exchange, visitor, client: pair.streams[0] };
}

async function openSocket() {
  const visiting = await visit();
  respond(visiting.client, 101, "sec-websocket-protocol: chat\r\n", "", false);
  assert.equal((await visiting.visitor.response).headers.get("upgraded"), "yes");
  const socket = createSocket();
  const upgrade = visiting.exchange.accepted!;
  upgrade.onOpen!(socket);
  return { ...visiting, socket, upgrade };
}

Deno.test("messages are carried both ways, text and binary, with subprotocol and close", async () => {
  const { client, socket, upgrade, told, relay } = await openSocket();
  assert.equal(upgrade.protocol, "chat");
  const text = new TextEncoder().encode("\ufeffhé");
  await client.writeMessage(text.subarray(0, 5), true, false);
  await client.writeMessage(text.subarray(5), true);
  await client.writeMessage(Uint8Array.of(1, 2), false);
  await settle();
  assert.deepEqual(socket.sent, ["\ufeffhé", Uint8Array.of(1, 2)]);
  upgrade.onMessage("hi");
  upgrade.onMessage(Uint8Array.of(65));
  upgrade.onClose(4000, "bye");
  await settle();
  assert.deepEqual(told, ["text hi", "binary A", "close 4000 bye"]);
  assert.equal(relay.size, 0);
});

Deno.test("what comes before the visitor's side is open waits for it", async () => {
  const { client, exchange } = await visit();
  respond(client, 101, "", "", false);
  await client.writeMessage(new TextEncoder().encode("early"), true);
  client.closeWebSocket(4001, "done");
  await settle();
  const socket = createSocket();
  exchange.accepted!.onOpen!(socket);
  assert.deepEqual([socket.sent, socket.closed], [["early"], [[4001, "done"]]]);
});

Deno.test("a reset between the handshake's answer and its opening closes the visitor's side", async () => {
  const { client, exchange } = await visit();
  respond(client, 101, "", "", false);
  client.reset(ResetReason.broken, "it broke");
  await settle();
  const socket = createSocket();
  exchange.accepted!.onOpen!(socket);
  assert.deepEqual(socket.closed, [[1001, "it broke"]]);
});

Deno.test("a refused handshake is passed on as the plain answer it is", async () => {
  const { client, visitor, relay } = await visit();
  respond(client, 403, "x: y\r\n", "no", true);
  client.reset(ResetReason.none);
  const response = await visitor.response;
  assert.deepEqual([response.status, response.headers.get("x"), await response.text()], [403, "y", "no"]);
  await settle();
  assert.equal(relay.size, 0);
});

Deno.test("a reset before the answer is the same error as for plain requests", async () => {
  const { client, visitor } = await visit();
  client.reset(ResetReason.refused);
  const response = await visitor.response;
  assert.deepEqual([response.status, response.headers.get("portway-error")], [502, "service_unreachable"]);
});

for (const early of [false, true]) {
  const when = early ? "before the first beat" : "after the first beat";
  Deno.test(`a visitor who leaves before the answer, ${when}, ends the stream, and the response settles`, async () => {
    const { exchange, visitor, relay } = await visit();
    if (early) exchange.leave();
    visitor.onBeat();
    exchange.leave();
    assert.equal((await visitor.response).status, 502);
    assert.equal(relay.size, 0);
  });
}

Deno.test("an accepted visitor whose side never opens is given up, one whose side is open is not", async () => {
  const { client, visitor, relay } = await visit();
  respond(client, 101, "", "", false);
  await visitor.response;
  for (let beats = 0; beats < 10; beats++) visitor.onBeat();
  assert.equal(relay.size, 0);
  const open = await openSocket();
  for (let beats = 0; beats < 10; beats++) open.visitor.onBeat();
  assert.equal(open.relay.size, 1);
});

Deno.test("a malformed head of a handshake's answer is 502", async () => {
  const { client, visitor, relay } = await visit();
  respond(client, 101, "nonsense\r\n", "", false);
  assert.equal((await visitor.response).status, 502);
  assert.equal(relay.size, 0);
});

Deno.test("a message beyond the limit closes both sides with 1009", async () => {
  const { client, socket, told } = await openSocket();
  const writing = client.writeMessage(new Uint8Array(MAX_WEBSOCKET_MESSAGE + 1), false).catch(() => {});
  for (let count = 0; count < 400 && socket.closed.length === 0; count++) await settle();
  await writing;
  assert.deepEqual(socket.closed, [[1009, "the message is too large"]]);
  assert.deepEqual([told, socket.sent], [["close 1009 the message is too large"], []]);
});

Deno.test("a visitor who takes nothing stops the local service, in the middle of a message too", async () => {
  const { client, socket } = await openSocket();
  Object.assign(socket, { bufferedAmount: 2 * 1024 * 1024 });
  let sent = 0;
  const write = async () => {
    for (;;) {
      await client.writeMessage(new Uint8Array(64 * 1024), false, sent % 10 === 9);
      sent++;
    }
  };
  const writing = write().catch((error) => error);
  for (let count = 0; count < 50; count++) await settle();
  assert(sent <= 2, `${sent} pieces of 64 KiB were taken`);
  Object.assign(socket, { bufferedAmount: 0 });
  while (sent < 30) await new Promise((resolve) => setTimeout(resolve, 5));
  client.reset(ResetReason.cancelled);
  assert.equal((await writing).name, "StreamEnded");
});

Deno.test("what visitors of one tunnel may leave waiting is limited for all together", async () => {
  const queue = { size: 0 };
  const sockets = [];
  for (let count = 0; count < 5; count++) {
    const { relay, client } = createPair();
    const exchange = createExchange({ webSocket: true });
    const visitor = new WebSocketVisitor(exchange, { meter() {}, gate: () => null }, queue);
    visitor.start(relay.open(HEAD, { end: false, webSocket: true }, visitor)!);
    await settle();
    respond(client.streams()[0], 101, "", "", false);
    const socket = createSocket();
    await visitor.response;
    exchange.accepted!.onOpen!(socket);
    exchange.accepted!.onMessage(new Uint8Array(15 * 1024 * 1024));
    sockets.push({ socket, relay });
  }
  assert.deepEqual(sockets.map(({ socket }) => socket.closed.length), [0, 0, 0, 0, 1]);
  assert.equal((sockets[4].socket.closed[0] as unknown[])[0], 1008);
  for (const { relay } of sockets) relay.end(GoAwayReason.closed, "done");
  await settle();
  assert.equal(queue.size, 0);
});

Deno.test("a close that stands for a broken connection is sent as going away, none as none", async () => {
  for (const [code, closed] of [[1006, [1001, ""]], [1005, [undefined, undefined]]] as const) {
    const { client, socket } = await openSocket();
    client.closeWebSocket(code, "");
    await settle();
    assert.deepEqual(socket.closed, [closed]);
  }
});

Deno.test("plain data on a WebSocket closes both sides with 1008", async () => {
  const { client, socket } = await openSocket();
  await client.write(new Uint8Array(1));
  await settle();
  assert.deepEqual(socket.closed, [[1008, "plain data on a WebSocket"]]);
});
