import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { silentLogger } from "../../../common/log.ts";
import type { ListenerLimits } from "../limits.ts";
import type { Exchange, ExchangeHandler } from "../types.ts";
import { listenEdge } from "./listen.ts";

const GET = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
const HOLD = "GET /hold HTTP/1.1\r\nhost: a\r\n\r\n";

/** A listener that answers at once, but for `/hold`, which it keeps, and visitors of it. */
async function open(limits: Partial<ListenerLimits>) {
  const held: Exchange[] = [];
  const handler: ExchangeHandler = (exchange) => {
    if (exchange.path !== "/hold") return new Response(exchange.isOverLimit ? "crowded" : "open");
    held.push(exchange);
    return null;
  };
  const listener = await listenEdge({ hostname: "127.0.0.1", port: 0, limits, log: silentLogger }, handler);
  const sockets: Socket[] = [];
  /** Sends a request, and gives the answer's body back, or "" when the connection is closed. */
  async function visit(socket: Socket, request = GET): Promise<string> {
    const answer = Promise.race([once(socket, "data"), once(socket, "close").then(() => [""])]);
    socket.write(request);
    return String((await answer)[0]).split("\r\n\r\n").at(-1) ?? "";
  }
  async function dial(localAddress = "127.0.0.1"): Promise<Socket> {
    const socket = connect({ port: listener.port, host: "127.0.0.1", localAddress });
    socket.on("error", () => {});
    sockets.push(socket);
    await once(socket, "connect");
    return socket;
  }
  async function hold(): Promise<void> {
    const count = held.length, socket = await dial();
    socket.write(HOLD);
    while (held.length === count) await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return {
    listener,
    dial,
    visit,
    hold,
    [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      listener.abort();
      return Promise.resolve();
    },
  };
}

Deno.test("edge ends the longest idle connection when another one comes and there is no room", async () => {
  await using edge = await open({ maxConnections: 3 });
  const first = await edge.dial();
  assert.equal(await edge.visit(first), "open");
  await edge.hold();
  const second = await edge.dial();
  assert.equal(await edge.visit(second), "open");
  const closed = once(first, "close");
  first.resume();
  const third = await edge.dial();
  assert.equal(await edge.visit(third), "open");
  await closed;
  assert.equal(await edge.visit(second), "open");
});

Deno.test("edge keeps places for what must get in when nobody is idle, and says which they are", async () => {
  await using edge = await open({ maxConnections: 2 });
  await edge.hold();
  await edge.hold();
  assert.equal(await edge.visit(await edge.dial()), "crowded");
  assert.equal(edge.listener.connections, 3);
});

Deno.test("edge turns newcomers away when the reserved places are taken too", async () => {
  await using edge = await open({ maxConnections: 2 });
  for (let count = 0; count < 2 + 32; count++) await edge.hold();
  assert.equal(await edge.visit(await edge.dial()), "");
});

Deno.test("edge lets a newcomer of an address in that has too many, in place of its longest idle", async () => {
  await using edge = await open({ maxConnectionsPerAddress: 2 });
  const other = await edge.dial("127.0.0.2");
  assert.equal(await edge.visit(other), "open");
  const first = await edge.dial();
  assert.equal(await edge.visit(first), "open");
  await edge.hold();
  const closed = once(first, "close");
  first.resume();
  assert.equal(await edge.visit(await edge.dial()), "open");
  await closed;
  assert.equal(await edge.visit(other), "open");
});
