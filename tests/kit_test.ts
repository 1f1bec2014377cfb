import assert from "node:assert/strict";
import {
  createNoise,
  hashOf,
  openRaw,
  openSocket,
  rawRequest,
  startRecorder,
  startServer,
  startSite,
  startSocketService,
  startTcpRelay,
  startTunnel,
  visit,
} from "./kit.ts";

Deno.test("the kit carries a request and a stream through the real server and client", async () => {
  await using site = startSite();
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, target: site });
  assert.equal(await (await visit(`${tunnel.url}/text`)).text(), "hello");
  await tunnel.events.waitFor("request", ({ path }) => path === "/text");
  const events = await visit(`${tunnel.url}/events`);
  const reader = events.body[Symbol.asyncIterator]();
  assert.equal(new TextDecoder().decode((await reader.next()).value), "data: first\n\n");
  site.release();
  assert.equal(new TextDecoder().decode((await reader.next()).value), "data: second\n\n");
  const { code, summary } = await tunnel.stop();
  assert.equal(code, 0);
  assert.equal(summary.requests, 2);
});

Deno.test("the kit carries a WebSocket through the real server and client", async () => {
  await using service = await startSocketService();
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, target: service });
  await using socket = await openSocket(`${tunnel.url}/ws`, { protocols: ["a", "b"] });
  assert.equal(socket.protocol, "b");
  socket.send("ping");
  assert.equal(await socket.next(), "ping");
  socket.close(4001, "enough");
  assert.deepEqual(await socket.closed, { code: 4001, reason: "enough" });
  await service.log.waitFor("closed 4001 enough");
});

Deno.test("the kit's noise is the same for a seed and arrives whole", async () => {
  await using site = startSite();
  const answer = await visit(`http://localhost:${site.port}/noise?size=3000000&seed=5`);
  assert.equal(await hashOf(answer.body), await hashOf(createNoise(3_000_000, 5)));
  const upload = await visit(`http://localhost:${site.port}/upload`, { body: createNoise(3_000_000, 5) });
  assert.deepEqual(await upload.json(), { size: 3_000_000, sha256: await hashOf(createNoise(3_000_000, 5)) });
});

Deno.test("the kit's recorder keeps requests byte for byte, and raw connections read its answers", async () => {
  await using recorder = await startRecorder();
  const text = "POST /\xe9 HTTP/1.1\r\nHost:  x\r\ncontent-length: 2\r\n\r\nhi";
  assert.equal((await rawRequest(recorder.port, text)).status, 200);
  assert.equal((await recorder.waitFor(() => true)).raw, text);
});

Deno.test("the kit's TCP relay passes bytes, holds them when cut, and resets connections when told", async () => {
  await using recorder = await startRecorder();
  await using relay = await startTcpRelay(recorder.port, { delayMs: 5 });
  await using raw = await openRaw(relay.port);
  raw.write("GET /1 HTTP/1.1\r\n\r\n");
  assert.equal((await raw.read()).status, 200);
  relay.cut("silent");
  raw.write("GET /2 HTTP/1.1\r\n\r\n");
  assert.equal((await rawRequest(recorder.port, "GET /3 HTTP/1.1\r\n\r\n")).status, 200);
  assert.equal(recorder.requests.length, 2);
  relay.mend();
  assert.equal((await raw.read()).status, 200);
  relay.cut("reset");
  assert.equal(await raw.readToEnd(), "");
});
