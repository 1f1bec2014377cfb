/** What visitors may take of a listener, with a clock that the tests turn. */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { connect } from "node:net";
import process from "node:process";
import { pem } from "../../connection/_test_peer.ts";
import { silentLogger } from "../../../common/log.ts";
import { stop, within } from "../contract_kit_test.ts";
import { connectRaw, exchangeRaw, type RawClient } from "../_raw_client.ts";
import { DEFAULT_LIMITS, type ListenerLimits } from "../limits.ts";
import { BodyCut, type Exchange, type ExchangeHandler, type Listener, type ListenOptions } from "../types.ts";
import { listenEdge } from "./listen.ts";

interface Edge extends AsyncDisposable {
  listener: Listener;
  port: number;
  /** Lets that many seconds pass. */
  pass(seconds: number): void;
}

async function open(
  limits: Partial<ListenerLimits>,
  handler: ExchangeHandler,
  options: Partial<ListenOptions> = {},
): Promise<Edge> {
  let turn = () => {};
  const clock = (given: () => void) => {
    turn = given;
    return () => void (turn = () => {});
  };
  const all = { hostname: "127.0.0.1", port: 0, log: silentLogger, limits, ...options };
  const listener = await listenEdge(all, handler, clock);
  return {
    listener,
    port: listener.port,
    pass(seconds) {
      for (let second = 0; second < seconds; second++) turn();
    },
    [Symbol.asyncDispose]: () => stop(listener),
  };
}

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const hello: ExchangeHandler = () => new Response("hello");

/** Resolves when the listener has seen what every one of these clients has sent: they are its only connections. */
async function whenConnected({ listener }: Edge, count: number): Promise<void> {
  while (listener.connections !== count) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** A visitor with an answered request, which waits for the next. */
async function visitIdle(edge: Edge): Promise<RawClient> {
  const client = connectRaw(edge.port);
  client.send(GET);
  await within(client.until(/hello/));
  return client;
}

Deno.test("a head that takes longer than headSeconds is answered with 408, whatever still comes of it", async () => {
  await using edge = await open({ headSeconds: 5 }, hello);
  const client = connectRaw(edge.port);
  client.send("GET / HTTP/1.1\r\n");
  // Its answer tells that the first bytes of the other have arrived too.
  await visitIdle(edge);
  edge.pass(5);
  client.send("Host: a\r\nX: ");
  await visitIdle(edge);
  edge.pass(1);
  match(await within(client.end()), /^HTTP\/1\.1 408 [^]*connection: close[^]*head_timeout/i);
});

Deno.test("who connects and says nothing is closed after headSeconds", async () => {
  await using edge = await open({ headSeconds: 5 }, hello);
  const client = connectRaw(edge.port);
  await whenConnected(edge, 1);
  edge.pass(5);
  equal(edge.listener.connections, 1);
  edge.pass(1);
  equal(await within(client.end()), "");
});

Deno.test("a connection without requests is closed after idleSeconds, and each request begins them anew", async () => {
  await using edge = await open({ idleSeconds: 5 }, hello);
  const client = await visitIdle(edge);
  edge.pass(5);
  client.send(GET);
  await within(client.until(/hello[^]*hello/));
  edge.pass(5);
  equal(edge.listener.connections, 1);
  edge.pass(1);
  await within(client.end());
});

// On Node the listener has no TLS.
if (process.versions.deno !== undefined) {
  Deno.test("who never finishes a TLS handshake is closed after handshakeSeconds", async () => {
    const tls = { cert: pem("leaf.pem"), key: pem("leaf.key") };
    await using edge = await open({ handshakeSeconds: 5 }, hello, { tls });
    const client = connectRaw(edge.port);
    client.send("\x16\x03\x01");
    await whenConnected(edge, 1);
    edge.pass(5);
    equal(edge.listener.connections, 1);
    edge.pass(1);
    equal(edge.listener.connections, 0);
    // Deno keeps the socket of a handshake that was given up until the peer leaves.
    client.socket.destroy();
  });
}

/** Reads bodies, and tells when it begins to and how it ended. */
function readBodies() {
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<unknown>();
  let waits = Promise.withResolvers<void>();
  const handler = async ({ readBody }: Exchange, exchange: Exchange) => {
    begun.resolve();
    try {
      for (let piece = await readBody.call(exchange); piece !== null; piece = await readBody.call(exchange)) {
        waits.resolve();
        waits = Promise.withResolvers();
      }
      ended.resolve("whole");
    } catch (error) {
      ended.resolve(error);
      throw error;
    }
    return new Response("read");
  };
  return {
    begun: begun.promise,
    ended: ended.promise,
    /** Resolves with the next piece. */
    whenPiece: () => waits.promise,
    handler: (exchange: Exchange) => handler(exchange, exchange),
  };
}

const POST = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n";

Deno.test("a body of which less than bodyRate comes within bodySeconds is cut", async () => {
  const reader = readBodies();
  await using edge = await open({ bodySeconds: 10, bodyRate: 100 }, reader.handler);
  const client = connectRaw(edge.port);
  client.send(POST);
  await within(reader.begun);
  edge.pass(5);
  const piece = reader.whenPiece();
  client.send("x".repeat(900));
  await within(piece);
  edge.pass(5);
  equal(edge.listener.connections, 1);
  edge.pass(1);
  equal(await within(client.end()), "");
  ok(await within(reader.ended) instanceof BodyCut);
});

Deno.test("a body that comes slowly, but fast enough, is taken to its end", async () => {
  const reader = readBodies();
  await using edge = await open({ bodySeconds: 10, bodyRate: 100 }, reader.handler);
  const client = connectRaw(edge.port);
  client.send(POST.replace("1000000", "30000"));
  await within(reader.begun);
  for (let sent = 0; sent < 30_000; sent += 600) {
    const piece = reader.whenPiece();
    client.send("x".repeat(600));
    await within(piece);
    edge.pass(5);
  }
  match(await within(client.until(/read/)), /^HTTP\/1\.1 200 /);
});

Deno.test("a body that nobody reads has no clock on it", async () => {
  const seen = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  await using edge = await open({ bodySeconds: 10 }, async () => {
    seen.resolve();
    await go.promise;
    return new Response("late");
  });
  const client = connectRaw(edge.port);
  client.send(POST);
  await within(seen.promise);
  edge.pass(1_000);
  go.resolve();
  match(await within(client.end()), /^HTTP\/1\.1 200 [^]*late$/);
});

Deno.test("an exchange may take as long as it takes", async () => {
  const seen = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  await using edge = await open({}, async () => {
    seen.resolve();
    await go.promise;
    return new Response("late");
  });
  const client = connectRaw(edge.port);
  client.send(GET);
  await within(seen.promise);
  edge.pass(100_000);
  go.resolve();
  match(await within(client.until(/late/)), /^HTTP\/1\.1 200 /);
});

const LARGE_ANSWER = 64 * 1024 * 1024;
/** One piece, so that one write has all of it. */
const large: ExchangeHandler = () => new Response(new Uint8Array(LARGE_ANSWER));

Deno.test("who takes nothing of an answer for stallSeconds is cut", async () => {
  const left = Promise.withResolvers<void>();
  await using edge = await open({ stallSeconds: 5 }, (exchange) => {
    exchange.signal.addEventListener("abort", () => left.resolve());
    return large(exchange);
  });
  const socket = connect(edge.port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(GET);
  await within(new Promise((resolve) => socket.once("readable", resolve)));
  // What the two systems hold may still be taken for a while.
  while (edge.listener.connections > 0) {
    edge.pass(1);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await within(left.promise);
  socket.destroy();
});

Deno.test("who takes nothing of an upgraded connection for stallSeconds is cut, and one that is quiet is not", async () => {
  const broken = Promise.withResolvers<void>();
  await using edge = await open({ stallSeconds: 5 }, (exchange) => {
    const connection = exchange.response.switchProtocols(new TextEncoder().encode("\r\nupgrade: chat\r\n"));
    const isLoud = exchange.path === "/loud";
    // Who is quiet only reads.
    const work = isLoud ? connection.write(new Uint8Array(LARGE_ANSWER)) : connection.read(new Uint8Array(1));
    work.then(() => {}, () => isLoud && broken.resolve());
    return null;
  });
  const ask = async (path: string) => {
    const socket = connect(edge.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n`);
    await within(new Promise((resolve) => socket.once("readable", resolve)));
    return socket;
  };
  const quiet = await ask("/quiet"), loud = await ask("/loud");
  while (edge.listener.connections > 1) {
    edge.pass(1);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await within(broken.promise);
  edge.pass(1000);
  equal(edge.listener.connections, 1);
  quiet.destroy();
  loud.destroy();
});

Deno.test("who takes a large answer slowly, but takes it, gets all of it", async () => {
  await using edge = await open({ stallSeconds: 8 }, large);
  const socket = connect(edge.port, "127.0.0.1");
  let received = 0, timed = 0;
  socket.write(GET);
  const whole = new Promise<void>((resolve, reject) => {
    socket.on("data", (chunk) => {
      received += chunk.length;
      // Half a minute in all; much of it comes at once, as the two systems hold some of it.
      for (; timed < received; timed += 2 * 1024 * 1024) edge.pass(1);
      if (received > LARGE_ANSWER) resolve();
    });
    socket.on("close", () => reject(new Error(`closed after ${received} bytes`)));
  });
  await within(whole);
  socket.destroy();
});

Deno.test("when connections run out the longest idle goes first", async () => {
  await using edge = await open({ maxConnections: 3 }, hello);
  const clients: RawClient[] = [];
  for (let index = 0; index < 3; index++) {
    clients.push(await visitIdle(edge));
    edge.pass(1);
  }
  clients[0].send(GET);
  await within(clients[0].until(/hello[^]*hello/));
  clients.push(await visitIdle(edge));
  await within(clients[1].end());
  equal(edge.listener.connections, 3);
  for (const index of [0, 2, 3]) {
    clients[index].send(GET);
    await within(clients[index].until(/hello$/));
  }
});

Deno.test("a running exchange is never ended for another", async () => {
  const go = Promise.withResolvers<void>();
  let running = 0;
  await using edge = await open({ maxConnections: 2 }, async () => {
    running++;
    await go.promise;
    return new Response("done");
  });
  const clients = [connectRaw(edge.port), connectRaw(edge.port)];
  for (const client of clients) client.send(GET);
  while (running < 2) await new Promise((resolve) => setTimeout(resolve, 1));
  const third = connectRaw(edge.port);
  third.send(GET);
  while (running < 3) await new Promise((resolve) => setTimeout(resolve, 1));
  go.resolve();
  for (const client of [...clients, third]) match(await within(client.until(/done/)), /^HTTP\/1\.1 200 /);
});

/** A visitor from one of the addresses of this machine. */
function visitFrom(edge: Edge, address: string): Promise<string> {
  const socket = connect({ port: edge.port, host: "127.0.0.1", localAddress: address });
  return new Promise((resolve) => {
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
      if (text.includes("hello")) resolve(text);
    });
    socket.on("error", () => {}).on("close", () => resolve(text));
    socket.write(GET);
  });
}

Deno.test("an address that has all the connections it may have gives an idle one up for a new one", async () => {
  await using edge = await open({ maxConnectionsPerAddress: 2 }, hello);
  const first = await visitIdle(edge);
  edge.pass(1);
  await visitIdle(edge);
  match(await within(visitFrom(edge, "127.0.0.2")), /hello/);
  edge.pass(1);
  await visitIdle(edge);
  await within(first.end());
  equal(edge.listener.connections, 3);
});

Deno.test("an address whose connections are all busy gets no more, and others do", async () => {
  const go = Promise.withResolvers<void>();
  let running = 0;
  await using edge = await open({ maxConnectionsPerAddress: 2 }, async (exchange) => {
    if (exchange.remoteAddress !== "127.0.0.1") return new Response("hello");
    running++;
    await go.promise;
    return new Response("done");
  });
  const clients = [connectRaw(edge.port), connectRaw(edge.port)];
  for (const client of clients) client.send(GET);
  while (running < 2) await new Promise((resolve) => setTimeout(resolve, 1));
  equal(await within(exchangeRaw(edge.port, GET)), "");
  match(await within(visitFrom(edge, "127.0.0.2")), /hello/);
  go.resolve();
  for (const client of clients) await within(client.until(/done/));
});

Deno.test("a reverse proxy of the operator's has as many connections as it likes", async () => {
  const isTrusted = (address: string) => address === "127.0.0.1";
  await using edge = await open({ maxConnectionsPerAddress: 2 }, hello, { isTrusted });
  for (let index = 0; index < 5; index++) await visitIdle(edge);
  equal(edge.listener.connections, 5);
});

Deno.test("heads have as many bytes and fields as they may, and not one more", async () => {
  await using edge = await open({ maxHeadBytes: 1_000, maxFields: 10 }, hello);
  const sized = (size: number) => `GET / HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(size - 32)}\r\n\r\n`;
  equal(sized(1_000).length, 1_000);
  const close = (request: string) =>
    exchangeRaw(edge.port, request + GET.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
  match(await within(close(sized(1_000))), /^HTTP\/1\.1 200 [^]*HTTP\/1\.1 200 /);
  for (const request of [sized(1_001), sized(100_000)]) {
    const answer = await within(close(request));
    match(answer, /^HTTP\/1\.1 431 [^]*head_too_large/);
    equal(answer.match(/HTTP\/1\.1/g)?.length, 1);
  }
  const fielded = (count: number) => `GET / HTTP/1.1\r\nHost: a\r\n${"a: b\r\n".repeat(count - 1)}\r\n`;
  match(await within(close(fielded(10))), /^HTTP\/1\.1 200 /);
  match(await within(close(fielded(11))), /^HTTP\/1\.1 431 /);
});

Deno.test("a head without end is refused when it has more bytes than one may have, and a little more to find Accept in", async () => {
  await using edge = await open({}, hello);
  const client = connectRaw(edge.port);
  client.send(`GET / HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(DEFAULT_LIMITS.maxHeadBytes + 4096)}`);
  match(await within(client.end()), /^HTTP\/1\.1 431 /);
});

Deno.test("whoever goes on sending after a refusal is held back, and closed soon", async () => {
  await using edge = await open({}, hello);
  const socket = connect(edge.port, "127.0.0.1");
  let answer = "", sent = 0;
  socket.on("data", (chunk) => answer += chunk).on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  const piece = new Uint8Array(65_536).fill(120);
  const send = () => {
    while (!socket.destroyed && socket.write(piece)) sent += piece.length;
  };
  socket.write("nonsense\r\n\r\n");
  socket.on("drain", send);
  send();
  while (!answer.includes("bad_request")) await new Promise((resolve) => setTimeout(resolve, 1));
  edge.pass(3);
  await within(closed);
  match(answer, /^HTTP\/1\.1 400 /);
  ok(sent < 32 * 1024 * 1024, `${sent} bytes were taken`);
  equal(edge.listener.connections, 0);
});

Deno.test("a visitor who has ended their side is given up when no answer comes for some seconds", async () => {
  const left = Promise.withResolvers<void>();
  await using edge = await open({}, async (exchange) => {
    exchange.signal.addEventListener("abort", () => left.resolve());
    await left.promise;
    return new Response("nobody waits");
  });
  const client = connectRaw(edge.port);
  client.socket.end(GET);
  await whenConnected(edge, 1);
  while (edge.listener.connections > 0) {
    edge.pass(1);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await within(left.promise);
});

Deno.test("close ends idle connections at once, and busy ones with their answer", async () => {
  const go = Promise.withResolvers<void>();
  const seen = Promise.withResolvers<void>();
  await using edge = await open({}, async (exchange) => {
    if (exchange.path === "/") return new Response("hello");
    seen.resolve();
    await go.promise;
    return new Response("done");
  });
  const idle = await visitIdle(edge);
  const half = connectRaw(edge.port);
  half.send("GET / HTTP/1.1\r\n");
  const busy = connectRaw(edge.port);
  busy.send("GET /busy HTTP/1.1\r\nHost: a\r\n\r\n" + GET);
  await within(seen.promise);
  await whenConnected(edge, 3);
  const closed = edge.listener.close();
  await within(idle.end());
  equal(await within(half.end()), "");
  equal(edge.listener.connections, 1);
  go.resolve();
  const answer = await within(busy.end());
  match(answer, /connection: close[^]*done$/i, "the request behind it is not begun");
  await within(closed);
  await rejects(
    new Promise((resolve, reject) => {
      connect(edge.port, "127.0.0.1").on("connect", resolve).on("error", reject);
    }),
  );
  deepEqual(edge.listener.connections, 0);
});
