/** Upgrades as real programs make them: `ws` and socket.io on both sides, a browser, a protocol that nobody knows. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttpServer, type Server as HttpServer } from "node:http";
import { createServer as createTcpServer, type Socket } from "node:net";
import { Server as SocketIoServer } from "socket.io";
import { WebSocket as WsSocket, WebSocketServer } from "ws";
import {
  createNoise,
  hashOf,
  LineLog,
  openBrowser,
  openRaw,
  openSocket,
  startServer,
  startSocketService,
  startTunnel,
  within,
} from "./kit.ts";

const MIB = 1024 * 1024;

/** A service of a test, stopped with all who are connected. */
interface Service extends AsyncDisposable {
  readonly port: number;
  readonly log: LineLog;
}

async function listen(http: HttpServer, log: LineLog, stop: () => void): Promise<Service> {
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const address = http.address();
  assert(address !== null && typeof address === "object");
  return {
    port: address.port,
    log,
    async [Symbol.asyncDispose]() {
      stop();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

/** A `ws` server that speaks permessage-deflate, with a page to connect from. It says what it has agreed on, and echoes. */
function startDeflateService(): Promise<Service> {
  const log = new LineLog("the log of the deflating service");
  const http = createHttpServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>sockets</title>");
  });
  const sockets = new WebSocketServer({
    server: http,
    maxPayload: 64 * MIB,
    perMessageDeflate: { threshold: 0 },
  });
  sockets.on("connection", (peer, request) => {
    log.add(`offered ${request.headers["sec-websocket-extensions"] ?? "nothing"}`);
    log.add(`agreed ${peer.extensions || "nothing"}`);
    let wireBytes = 0;
    request.socket.on("data", (bytes) => wireBytes += bytes.length);
    peer.on("message", (data, isBinary) => {
      log.add(`message of ${(data as Uint8Array).length} in ${wireBytes < 64 * 1024 ? "few" : "many"} bytes`);
      peer.send(data, { binary: isBinary });
    });
    peer.on("close", (code, reason) => log.add(`closed ${code} ${reason}`.trim()));
    // Told by the close event that follows.
    peer.on("error", () => {});
  });
  return listen(http, log, () => sockets.clients.forEach((peer) => peer.terminate()));
}

Deno.test("a browser and a service agree on permessage-deflate, and speak it through the tunnel", async () => {
  await using service = await startDeflateService();
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, target: service });
  await using browser = await openBrowser();
  const page = await browser.newPage();
  await page.goto(tunnel.url);
  const seen = await within(
    "the browser's sockets",
    page.evaluate(async () => {
      const socket = new WebSocket(location.href.replace("http", "ws"));
      socket.binaryType = "arraybuffer";
      await new Promise((resolve, reject) => {
        socket.onopen = resolve;
        socket.onerror = () => reject(new Error("the WebSocket did not open"));
      });
      const ask = (data: string | ArrayBuffer) =>
        new Promise<string | ArrayBuffer>((resolve, reject) => {
          socket.onmessage = (event) => resolve(event.data);
          socket.onclose = ({ code }) => reject(new Error(`closed with ${code}`));
          socket.send(data);
        });
      const text = "deflate me ".repeat(100_000);
      const textBack = await ask(text) === text;
      const bytes = crypto.getRandomValues(new Uint8Array(60_000));
      const bytesBack = new Uint8Array(await ask(bytes.buffer) as ArrayBuffer);
      const closed = new Promise<[number, string, boolean]>((resolve) =>
        socket.onclose = ({ code, reason, wasClean }) => resolve([code, reason, wasClean])
      );
      socket.close(4999, "\u00e9nough");
      return {
        extensions: socket.extensions,
        textBack,
        bytesBack: bytesBack.length === bytes.length && bytesBack.every((byte, at) => byte === bytes[at]),
        closed: await closed,
      };
    }),
  );
  assert.match(seen.extensions, /^permessage-deflate/);
  assert.deepEqual([seen.textBack, seen.bytesBack, seen.closed], [true, true, [4999, "\u00e9nough", true]]);
  await service.log.waitFor(/^offered permessage-deflate; client_max_window_bits$/);
  await service.log.waitFor("agreed permessage-deflate");
  // Text of 1.1 MB that says the same again and again took hardly any bytes as it came out of the tunnel.
  await service.log.waitFor("message of 1100000 in few bytes");
  await service.log.waitFor("closed 4999 \u00e9nough");
  await page.close();
});

Deno.test("with --listener deno the two ends agree on no extension, and still understand each other", async () => {
  await using service = await startDeflateService();
  await using server = await startServer({ args: ["--listener", "deno"] });
  await using tunnel = await startTunnel({ server, target: service });
  const { host } = new URL(tunnel.url);
  const socket = new WsSocket(`ws://127.0.0.1:${server.port}/`, { headers: { host }, perMessageDeflate: true });
  try {
    await within("the WebSocket", once(socket, "open"));
    assert.equal(socket.extensions, "");
    await service.log.waitFor("offered nothing");
    await service.log.waitFor("agreed nothing");
    socket.send("plain");
    const [back] = await within("the echo", once(socket, "message"));
    assert.equal(String(back), "plain");
  } finally {
    socket.terminate();
  }
});

Deno.test("messages of 16 MiB pass both ways, deflated by the two ends", async () => {
  await using service = await startDeflateService();
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, target: service });
  const { host } = new URL(tunnel.url);
  const socket = new WsSocket(`ws://127.0.0.1:${server.port}/`, {
    headers: { host },
    perMessageDeflate: { threshold: 0 },
    maxPayload: 64 * MIB,
  });
  try {
    await within("the WebSocket", once(socket, "open"));
    assert.equal(socket.extensions, "permessage-deflate");
    const pieces = [...createNoise(16 * MIB, 5)];
    for (let count = 0; count < 2; count++) {
      socket.send(new Uint8Array(await new Blob(pieces).arrayBuffer()));
      const [back] = await within("the echo", once(socket, "message"));
      assert.equal(await hashOf([back]), await hashOf(pieces));
    }
    assert.equal(socket.readyState, WsSocket.OPEN);
  } finally {
    socket.terminate();
  }
});

Deno.test("socket.io in a browser goes from polling to WebSocket through the tunnel, with answers, bytes and shouts", async () => {
  const log = new LineLog("the log of socket.io");
  const http = createHttpServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end('<script src="/socket.io/socket.io.js"></script>');
  });
  const server = new SocketIoServer(http);
  server.on("connection", (peer) => {
    log.add(`connected by ${peer.conn.transport.name}`);
    peer.conn.on("upgrade", (transport) => log.add(`upgraded to ${transport.name}`));
    peer.on("ask", (value: unknown, answer: (back: unknown) => void) => answer(value));
    peer.on("shout", (text: string) => server.emit("shouted", text));
    peer.on("disconnect", (reason) => log.add(`gone: ${reason}`));
  });
  await using service = await listen(http, log, () => void server.close());
  await using relay = await startServer();
  await using tunnel = await startTunnel({ server: relay, target: service });
  await using browser = await openBrowser();
  const first = await browser.newPage(), second = await browser.newPage();
  for (const page of [first, second]) {
    await page.goto(tunnel.url);
    const transports = await within(
      "the upgrade of socket.io",
      page.evaluate(() =>
        new Promise<string[]>((resolve, reject) => {
          const { io } = globalThis as unknown as { io: () => Peer };
          const peer = io(), { engine } = peer.io, first = engine.transport.name;
          Object.assign(globalThis, { peer, shouts: [] });
          peer.on("shouted", (text) => (globalThis as unknown as { shouts: unknown[] }).shouts.push(text));
          peer.on("connect_error", reject);
          engine.on("upgrade", ({ name }) => resolve([first, name]));
        })
      ),
    );
    assert.deepEqual(transports, ["polling", "websocket"]);
  }
  await service.log.waitFor("connected by polling");
  await service.log.waitFor("upgraded to websocket");
  const back = await first.evaluate(async () => {
    const { peer } = globalThis as unknown as { peer: Peer };
    const { text, bytes } = await peer.emitWithAck("ask", { text: "\u{1f600}", bytes: new Uint8Array([0, 255, 128]) });
    return [text, ...new Uint8Array(bytes)];
  });
  assert.deepEqual(back, ["\u{1f600}", 0, 255, 128]);
  await first.evaluate(() => void (globalThis as unknown as { peer: Peer }).peer.emit("shout", "hello all"));
  for (const page of [first, second]) {
    await page.waitForFunction(() => (globalThis as unknown as { shouts: unknown[] }).shouts[0] === "hello all");
  }
  await first.evaluate(() => void (globalThis as unknown as { peer: Peer }).peer.disconnect());
  await service.log.waitFor("gone: client namespace disconnect");
  await second.close();
  await service.log.waitFor("gone: transport close");
});

/** What the test uses of socket.io's client, which the service's own script brings. */
interface Peer {
  io: {
    engine: { transport: { name: string }; on(event: "upgrade", told: (transport: { name: string }) => void): void };
  };
  on(event: string, told: (value: unknown) => void): void;
  emit(event: string, value: unknown): void;
  emitWithAck(event: string, value: unknown): Promise<{ text: string; bytes: ArrayBuffer }>;
  disconnect(): void;
}

Deno.test("1,000 WebSockets at once on one tunnel each get their own messages, while plain requests are answered", async () => {
  await using service = await startSocketService();
  // All of them come from one address, which may have 1,000 connections when nothing else is said.
  await using server = await startServer({ args: ["--max-connections-per-address", "2000"] });
  await using tunnel = await startTunnel({ server, target: service });
  const count = 1000, opening = 50;
  const sockets: Awaited<ReturnType<typeof openSocket>>[] = [];
  try {
    while (sockets.length < count) {
      const batch = Array.from({ length: opening }, () => openSocket(`${tunnel.url}/ws`));
      sockets.push(...await Promise.all(batch));
    }
    assert.equal((await server.whenHealth(({ streams }) => streams >= count)).streams, count);
    for (let round = 0; round < 3; round++) {
      for (const [index, socket] of sockets.entries()) socket.send(`${index} in round ${round}`);
      for (const [index, socket] of sockets.entries()) {
        assert.equal(await socket.next(), `${index} in round ${round}`);
      }
    }
    await using raw = await openRaw(server.port);
    raw.write(`GET / HTTP/1.1\r\nHost: ${new URL(tunnel.url).host}\r\n\r\n`);
    assert.equal((await raw.read()).status, 426);
  } finally {
    await Promise.all(sockets.map((socket) => socket[Symbol.asyncDispose]()));
  }
  await server.whenHealth(({ streams }) => streams === 0);
});

Deno.test("close codes and reasons are those that were sent, whichever side sends them, also in a browser", async () => {
  await using service = await startSocketService();
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, target: service });
  const cases = [[1000, ""], [1000, "done"], [1001, "going"], [1011, "oops"], [3000, "a b"], [4999, "x".repeat(123)]];
  for (const [code, reason] of cases as [number, string][]) {
    await using visitor = await openSocket(`${tunnel.url}/ws`);
    visitor.close(code, reason);
    await service.log.waitFor(`closed ${code} ${reason}`.trim());
    assert.deepEqual(await visitor.closed, { code, reason });
    await using other = await openSocket(`${tunnel.url}/ws`);
    other.send(`close ${code} ${reason}`);
    assert.deepEqual(await other.closed, { code, reason });
  }
  await using browser = await openBrowser();
  const page = await browser.newPage();
  // A page of the tunnel's own origin: the service refuses plain requests, and that is page enough.
  await page.goto(tunnel.url);
  const told = await within(
    "the browser's closes",
    page.evaluate(
      (commands) =>
        Promise.all(commands.map((command) =>
          new Promise<[number, string, boolean]>((resolve) => {
            const socket = new WebSocket(`${location.href.replace("http", "ws")}ws`);
            socket.onopen = () => socket.send(command);
            socket.onclose = ({ code, reason, wasClean }) => resolve([code, reason, wasClean]);
          })
        )),
      ["close", "close 1000 done", "close 1001 going", "close 3000 a b", "close 4999 \u00e9", "terminate"],
    ),
  );
  assert.deepEqual(told, [
    [1005, "", true],
    [1000, "done", true],
    [1001, "going", true],
    [3000, "a b", true],
    [4999, "\u00e9", true],
    [1006, "", false],
  ]);
  await page.close();
});

Deno.test("a WebSocket whose service breaks it off, or has gone, ends at the visitor with 1006", async () => {
  await using server = await startServer();
  const service = await startSocketService();
  try {
    await using tunnel = await startTunnel({ server, target: service });
    await using broken = await openSocket(`${tunnel.url}/ws`);
    broken.send("terminate");
    assert.equal((await within("the end of a broken socket", broken.closed)).code, 1006);
    await using lost = await openSocket(`${tunnel.url}/ws`);
    await service[Symbol.asyncDispose]();
    assert.equal((await within("the end of a lost socket", lost.closed)).code, 1006);
    await using cut = await startSocketService();
    await using other = await startTunnel({ server, target: cut });
    await using left = await openSocket(`${other.url}/ws`);
    other.kill("SIGKILL");
    assert.equal((await within("the end with its tunnel", left.closed)).code, 1006);
    await cut.log.waitFor("closed 1006");
  } finally {
    await service[Symbol.asyncDispose]();
  }
});

/** A protocol of the test's own, `shout/1`: what comes goes back in capitals; `GET /first` ends the service's side at once. */
async function startShoutService(): Promise<Service> {
  const log = new LineLog("the log of the shouting service");
  const open = new Set<Socket>();
  const tcp = createTcpServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket)).on("error", () => {});
    let head = "", received = 0, isOpen = false;
    const take = (bytes: Uint8Array) => {
      received += bytes.length;
      if (!head.startsWith("GET /first")) socket.write(new TextDecoder().decode(bytes).toUpperCase());
    };
    socket.on("data", (bytes: Uint8Array) => {
      if (isOpen) return take(bytes);
      head += new TextDecoder("latin1").decode(bytes);
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return;
      isOpen = true;
      log.add(`upgrade ${/^upgrade: (.*)$/im.exec(head)?.[1]}`);
      // Its first words come along with the 101.
      socket.write("HTTP/1.1 101 Go On\r\nConnection: upgrade\r\nUpgrade: shout/1\r\n\r\nwelcome\n");
      if (head.startsWith("GET /first")) socket.end("that is all\n");
    });
    socket.on("end", () => {
      log.add(`received ${received} bytes and the end`);
      if (!head.startsWith("GET /first")) socket.end("bye\n");
    });
  });
  tcp.listen(0, "127.0.0.1");
  await once(tcp, "listening");
  const address = tcp.address();
  assert(address !== null && typeof address === "object");
  return {
    port: address.port,
    log,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => tcp.close(resolve));
    },
  };
}

const askToShout = (path: string, host: string) =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: shout/1\r\n\r\n`;

Deno.test("a protocol that is no WebSocket is upgraded to, and either side may end first", async (t) => {
  await using service = await startShoutService();
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, target: service });
  const { host } = new URL(tunnel.url);

  await t.step("the visitor ends first, and hears the rest", async () => {
    await using raw = await openRaw(server.port);
    raw.write(askToShout("/", host));
    const { status, statusLine, header } = await raw.read();
    assert.deepEqual([status, statusLine, header("upgrade")], [101, "HTTP/1.1 101 Go On", "shout/1"]);
    await service.log.waitFor("upgrade shout/1");
    raw.write("hello, ");
    raw.write("you there\n");
    raw.end();
    assert.equal(await raw.readToEnd(), "welcome\nHELLO, YOU THERE\nbye\n");
    await service.log.waitFor("received 17 bytes and the end");
  });

  await t.step("the service ends first, and hears the rest, 8 MiB of it", async () => {
    // By the runtime's own connection: node's readers end both sides with the first end.
    using conn = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
    await conn.write(new TextEncoder().encode(askToShout("/first", host)));
    let heard = "";
    const into = new Uint8Array(1024);
    for (let count = await conn.read(into); count !== null; count = await conn.read(into)) {
      heard += new TextDecoder().decode(into.subarray(0, count));
    }
    assert.match(heard, /^HTTP\/1\.1 101 Go On\r\n[^]*\r\n\r\nwelcome\nthat is all\n$/);
    for (const piece of createNoise(8 * MIB, 7)) {
      for (let at = 0; at < piece.length;) at += await conn.write(piece.subarray(at));
    }
    await conn.closeWrite();
    await service.log.waitFor(`received ${8 * MIB} bytes and the end`);
  });

  await t.step("the system looks whether a quiet visitor is still there", async () => {
    await using raw = await openRaw(server.port);
    raw.write(askToShout("/", host));
    assert.equal((await raw.read()).status, 101);
    const hex = (port = 0) => `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
    const ends = `${hex(server.port)} \\w+${hex(raw.socket.localPort)}`;
    // Timer 02 of an established connection (01) is TCP keepalive.
    const isAsked = new RegExp(`${ends} 01 \\w+:\\w+ 02:`);
    if (Deno.build.os === "linux") assert.match(await Deno.readTextFile("/proc/net/tcp"), isAsked);
  });

  await t.step("what comes right behind the request is the first that the service hears", async () => {
    await using raw = await openRaw(server.port);
    raw.write(`${askToShout("/", host)}early\n`);
    assert.equal((await raw.read()).status, 101);
    raw.end();
    assert.equal(await raw.readToEnd(), "welcome\nEARLY\nbye\n");
  });

  await server.whenHealth(({ streams }) => streams === 0);
});
