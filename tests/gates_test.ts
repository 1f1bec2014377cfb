/** Gates: one function in a list decides about every visitor of every tunnel, whatever the visitor comes for. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { HttpError } from "../common/http_error.ts";
import { delay } from "../common/delay.ts";
import { openTunnel } from "../mod.ts";
import type { Gate } from "../server/relay/mod.ts";
import { makeTempDir, openRaw, openSocket, startSite, startSocketService, visit } from "./kit.ts";
import { expose, makeTunnel, startTunnelServer, urlOfPort } from "./kit/tunnel_server.ts";

/** A gate in ten lines: it refuses paths that begin with /closed. */
const closedPaths: Gate = () => ({
  admit({ exchange }) {
    if (!exchange.path.startsWith("/closed")) return null;
    return new HttpError(418, "closed_path", "This path is closed.");
  },
});

async function codeOf(url: string, method = "GET"): Promise<string | string[] | undefined> {
  return (await visit(url, { method })).headers["portway-error"];
}

Deno.test("a gate of ten lines applies to HTTP, upgrades, events, uploads and every port of a tunnel", async () => {
  await using server = await startTunnelServer({}, [closedPaths]);
  await using site = startSite();
  await using sockets = await startSocketService();
  const tunnel = await makeTunnel(server, "ann", { allowedPorts: [3000, 8080] });
  await using _web = await expose(server, { token: "ann", tunnel, service: site });
  await using _api = await expose(server, { token: "ann", tunnel, port: 8080, service: sockets });
  for (const method of ["GET", "HEAD", "POST", "OPTIONS", "PROPFIND"]) {
    assert.equal(await codeOf(`${tunnel.url}/closed`, method), "closed_path", method);
  }
  assert.equal(await codeOf(`${urlOfPort(tunnel, 8080)}/closed`), "closed_path");
  assert.equal(await (await visit(`${tunnel.url}/text`)).text(), "hello");

  await using socket = await openSocket(`${urlOfPort(tunnel, 8080)}/ws`);
  socket.send("through the gate");
  assert.equal(await socket.next(), "through the gate");
  const { host } = new URL(urlOfPort(tunnel, 8080));
  await using raw = await openRaw(Number(new URL(server.url).port));
  raw.write(
    `GET /closed HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
  );
  assert.equal((await raw.read()).header("portway-error"), "closed_path");
});

Deno.test("a gate applies to shared folders and to sites", async () => {
  await using server = await startTunnelServer({}, [closedPaths]);
  await using folder = await makeTempDir();
  await writeFile(join(folder.path, "closed.txt"), "text");
  await writeFile(join(folder.path, "open.txt"), "text");
  await using share = await openTunnel({ server: server.url, folder: folder.path, writable: true });
  assert.equal(await codeOf(`${share.url}/closed.txt`), "closed_path");
  assert.equal(await codeOf(`${share.url}/closed.txt`, "DELETE"), "closed_path");
  assert.equal(await (await visit(`${share.url}/open.txt`)).text(), "text");
});

Deno.test("gates run before a visitor is held, and once more when a client has connected", async () => {
  const held: boolean[] = [];
  const recording: Gate = () => ({
    admit({ exchange, wasHeld }) {
      if (exchange.path === "/text") held.push(wasHeld);
      return null;
    },
  });
  await using server = await startTunnelServer({ holdSeconds: "60" }, [closedPaths, recording]);
  await using site = startSite();
  const tunnel = await makeTunnel(server, "ann");
  {
    await using _web = await expose(server, { token: "ann", tunnel, service: site });
  }
  assert.equal(await codeOf(`${tunnel.url}/closed`), "closed_path");
  const waiting = visit(`${tunnel.url}/text`);
  while (held.length === 0) await delay(5);
  await using _web = await expose(server, { token: "ann", tunnel, service: site });
  assert.equal(await (await waiting).text(), "hello");
  assert.deepEqual(held, [false, true]);
});

Deno.test("a gate may wait, respond itself, and edit the fields that the service receives", async () => {
  const ended: string[] = [];
  const gate: Gate = (endpoint) => ({
    async admit(visit) {
      await delay(1);
      if (visit.exchange.path === "/pages") return new Response("a page of the gate", { status: 203 });
      visit.setField("portway-user", `ann of port ${endpoint.port}`);
      visit.setField("cookie", null);
      visit.onEnd(() => ended.push(visit.exchange.path));
      return null;
    },
  });
  await using server = await startTunnelServer({}, [gate, closedPaths]);
  await using tunnel = await openTunnel({
    server: server.url,
    fetch: ({ headers }) => Promise.resolve(new Response(`${headers.get("portway-user")} ${headers.get("cookie")}`)),
  });
  const page = await visit(`${tunnel.url}/pages`);
  assert.deepEqual([page.status, await page.text()], [203, "a page of the gate"]);
  const headers = { "portway-user": "eve", cookie: "a=b" };
  assert.equal(await (await visit(`${tunnel.url}/a`, { headers })).text(), "ann of port 0 null");
  assert.equal(await codeOf(`${tunnel.url}/closed`), "closed_path");
  assert.deepEqual(ended, ["/a", "/closed"], "the end of a refused visit is reported too");
});

Deno.test("a gate that throws is a 500 for that visitor, and no other", async () => {
  const gate: Gate = () => ({
    admit(visit) {
      if (visit.exchange.path === "/value") visit.setField("a", "b\r\nc: d");
      if (visit.exchange.path === "/async") return Promise.reject(new Error("as planned"));
      return null;
    },
  });
  await using server = await startTunnelServer({}, [gate]);
  await using tunnel = await openTunnel({ server: server.url, fetch: () => Promise.resolve(new Response("fine")) });
  for (const path of ["/value", "/async"]) assert.equal((await visit(`${tunnel.url}${path}`)).status, 500, path);
  assert.equal(await (await visit(`${tunnel.url}/`)).text(), "fine");
});
