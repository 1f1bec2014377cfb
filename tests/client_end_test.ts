/** How the client ends, and what it says of what lasts. */
import assert from "node:assert/strict";
import { openSocket, startServer, startSite, startSocketService, startTunnel, visit } from "./kit.ts";

Deno.test("Ctrl+C lets an answer under way end, and says that it waits", async () => {
  await using site = startSite();
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, target: site });
  const held = visit(`${tunnel.url}/hold`);
  await site.log.waitFor("open /hold");
  tunnel.kill("SIGINT");
  await tunnel.events.waitFor("note", ({ text }) => /^Finishing 1 request, 5 s at most/.test(String(text)));
  site.release();
  assert.equal(await (await held).text(), "released");
  const { code, summary } = await tunnel.whenOver();
  assert.deepEqual([code, summary.requests, summary.reason], [
    0,
    1,
    "The tunnel was stopped. --resume takes it back until it expires.",
  ]);
});

Deno.test("an answer that does not end holds Ctrl+C up for seconds, and a second press for none", async () => {
  await using site = startSite();
  await using server = await startServer();
  await using patient = await startTunnel({ server, target: site });
  await using impatient = await startTunnel({ server, target: site });
  const held = [patient, impatient].map(({ url }) => visit(`${url}/hold`).then(({ status }) => status));
  for (let count = 0; count < 2; count++) await site.log.waitFor("open /hold");
  patient.kill("SIGINT");
  impatient.kill("SIGINT");
  // A press that comes twice at once is one.
  const presses = setInterval(() => impatient.kill("SIGINT"), 200);
  const { code } = await impatient.ended.finally(() => clearInterval(presses));
  assert.equal(code, 130);
  assert.equal((await patient.whenOver()).code, 0);
  assert((await Promise.all(held)).every((status) => status >= 500));
});

Deno.test("a tunnel that the server no longer knows ends with exit code 1, and says so", async () => {
  await using site = startSite();
  const first = await startServer();
  await using tunnel = await startTunnel({ server: first, target: site });
  await first[Symbol.asyncDispose]();
  // A server without the data of the one before.
  await using _second = await startServer({ port: first.port });
  const { code, summary } = await tunnel.whenOver();
  assert.deepEqual([code, summary.reason], [1, "The server no longer knows this tunnel."]);
});

Deno.test("a WebSocket is told of when it is accepted, and again when it ends", async () => {
  await using service = await startSocketService();
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, target: service });
  {
    await using socket = await openSocket(`${tunnel.url}/ws`);
    const opened = await tunnel.events.waitFor("upgrade");
    assert.deepEqual([opened.method, opened.path, opened.status], ["GET", "/ws", 101]);
    socket.send("hello");
    await socket.next();
  }
  const ended = await tunnel.events.waitFor("request");
  assert.deepEqual([ended.path, ended.status], ["/ws", 101]);
  assert(Number(ended.bytes) > 0);
  assert.equal((await tunnel.stop()).summary.requests, 1);
});

Deno.test("a path in the URL that is exposed is a path of the public one, and requests stay as they are", async () => {
  await using site = startSite();
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, target: `http://127.0.0.1:${site.port}/inspect/` });
  assert.match(tunnel.url, /\/inspect$/);
  assert.equal(tunnel.opened.target, `http://127.0.0.1:${site.port}/inspect`);
  const { url } = await (await visit(tunnel.url)).json() as { url: string };
  assert.equal(new URL(url).pathname, "/inspect");
});
