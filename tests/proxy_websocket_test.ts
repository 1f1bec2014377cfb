import { deepEqual, equal, match, ok } from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { WebSocket, WebSocketServer } from "ws";
import { openBrowser, rawRequest } from "./kit.ts";
import { startTestProxy, startTestUpstream } from "./proxy_kit.ts";

const ALLOW = { proxyAllow: "127.0.0.1,localhost" };

/** An upstream whose WebSockets send back what they are sent. */
async function startEcho() {
  const server = createServer((_, response) => void response.writeHead(426).end());
  const sockets = new WebSocketServer({ server, perMessageDeflate: true });
  sockets.on("connection", (socket) => {
    socket.on("message", (data, isBinary) => socket.send(data, { binary: isBinary }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  ok(address !== null && typeof address === "object");
  return {
    url: `ws://127.0.0.1:${address.port}/socket?room=1`,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

Deno.test("a WebSocket passes through the proxy: text, bytes, compression, subprotocol and the reason of its end", async () => {
  await using upstream = await startEcho();
  await using proxy = await startTestProxy({ ...ALLOW, openPaths: "true" });
  for (const path of ["/proxy/fetch/", "/", "/proxy/fetch?url="]) {
    const client = new WebSocket(`${proxy.url.replace("http", "ws")}${path}${upstream.url}`, ["chat"]);
    await once(client, "open");
    equal(client.protocol, "chat");
    match(client.extensions, /permessage-deflate/);
    for (const message of ["hello", "é".repeat(200_000)]) {
      client.send(message);
      equal(String((await once(client, "message"))[0]), message);
    }
    const bytes = crypto.getRandomValues(new Uint8Array(50_000));
    client.send(bytes);
    const [data, isBinary] = await once(client, "message");
    ok(isBinary);
    deepEqual(new Uint8Array(data), bytes);
    client.close(4321, "enough");
    const [code, reason] = await once(client, "close");
    deepEqual([code, String(reason)], [4321, "enough"]);
  }
});

Deno.test("many WebSockets pass at once, each with its own messages", async () => {
  await using upstream = await startEcho();
  await using proxy = await startTestProxy(ALLOW);
  const clients = Array.from(
    { length: 100 },
    () => new WebSocket(`${proxy.url.replace("http", "ws")}/proxy/fetch/${upstream.url}`),
  );
  await Promise.all(clients.map(async (client, number) => {
    await once(client, "open");
    for (let i = 0; i < 10; i++) {
      client.send(`${number}/${i}`);
      equal(String((await once(client, "message"))[0]), `${number}/${i}`);
    }
    client.close();
    await once(client, "close");
  }));
});

Deno.test("a page in a browser uses a WebSocket of another site through the proxy", async () => {
  await using upstream = await startEcho();
  await using proxy = await startTestProxy(ALLOW);
  await using site = startTestUpstream(() => new Response("<p>page", { headers: { "content-type": "text/html" } }));
  await using browser = await openBrowser();
  const page = await browser.newPage();
  await page.goto(site.url);
  const answer = await page.evaluate((url) =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(url);
      socket.onopen = () => socket.send("from a page");
      socket.onmessage = (event) => resolve(event.data);
      socket.onerror = () => reject(new Error("it failed"));
    }), `${proxy.url.replace("http", "ws")}/proxy/fetch/${upstream.url}`);
  equal(answer, "from a page");
});

Deno.test("proxy refuses a WebSocket as it would a request, and passes an upstream's refusal on", async () => {
  await using upstream = await startEcho();
  await using plain = startTestUpstream(() => new Response("no socket here", { status: 403 }));
  await using proxy = await startTestProxy({ ...ALLOW, proxyOrigins: "https://app.example", proxyToken: "s3cret" });
  const { host, port } = new URL(proxy.url);
  const ask = async (url: string, ...fields: string[]) => {
    const head = [
      `GET /proxy/fetch/${url} HTTP/1.1`,
      `Host: ${host}`,
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
      ...fields,
    ];
    const { status, header } = await rawRequest(Number(port), `${head.join("\r\n")}\r\n\r\n`);
    return `${status} ${header("portway-error")}`;
  };
  const token = "Portway-Token: s3cret";
  equal(await ask(upstream.url, token, "Origin: https://evil.example"), "403 origin_forbidden");
  equal(await ask(upstream.url), "401 token_required");
  equal(await ask("ws://10.0.0.1/", token), "403 address_forbidden");
  equal(await ask(plain.url, token), "403 undefined");
  equal(await ask("ws://127.0.0.1:9/", token), "502 upstream_refused");
  const client = new WebSocket(`ws://${host}/proxy/fetch/${upstream.url}`, {
    headers: { "portway-token": "s3cret" },
    origin: "https://app.example",
  });
  await once(client, "open");
  client.terminate();
});

Deno.test("a WebSocket through the proxy ends with either side, with silence, and with the server", async () => {
  await using upstream = await startEcho();
  const open = async (url: string) => {
    const arrived = once(upstream.sockets, "connection");
    const client = new WebSocket(`${url.replace("http", "ws")}/proxy/fetch/${upstream.url}`);
    await once(client, "open");
    const [socket] = await arrived;
    return { client, socket, ended: Promise.all([once(client, "close"), once(socket, "close")]) };
  };
  {
    await using proxy = await startTestProxy({ ...ALLOW, streamIdleSeconds: "1" });
    const left = await open(proxy.url);
    left.client.terminate();
    await left.ended;
    const dropped = await open(proxy.url);
    dropped.socket.terminate();
    await dropped.ended;
    await (await open(proxy.url)).ended;
  }
  const proxy = await startTestProxy(ALLOW);
  const open1 = await open(proxy.url);
  await proxy[Symbol.asyncDispose]();
  await open1.ended;
});
