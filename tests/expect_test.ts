/** `Expect: 100-continue` through a tunnel: the service decides before the visitor sends the body. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { makeTempDir, openRaw, type RawConnection, startServer, startTunnel, type Tunnel } from "./kit.ts";

/** Starts a service that decides on each expectation by `decide`. */
async function startDecider(decide: (request: IncomingMessage, response: ServerResponse) => void) {
  const service = createServer();
  service.on("checkContinue", decide);
  service.listen(0, "127.0.0.1");
  await once(service, "listening");
  return {
    port: (service.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      service.closeAllConnections();
      await new Promise((resolve) => service.close(resolve));
    },
  };
}

async function openUpload(tunnel: Tunnel, port: number, method = "POST", path = "/upload"): Promise<RawConnection> {
  const raw = await openRaw(port);
  const { host } = new URL(tunnel.url);
  raw.write(`${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n`);
  return raw;
}

Deno.test("a service refuses an upload before the visitor sends its body", async () => {
  await using service = await startDecider((request, response) => {
    assert.equal(request.headers.expect, "100-continue");
    response.writeHead(413, { connection: "close" }).end("too large");
  });
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, target: service });
  await using raw = await openUpload(tunnel, server.port);
  const response = await raw.read();
  assert.deepEqual([response.status, new TextDecoder().decode(response.body)], [413, "too large"]);
  assert.equal(response.header("connection"), "close");
});

Deno.test("a service that continues an upload gets its body, which the visitor sends only then", async () => {
  const order: string[] = [];
  await using service = await startDecider((request, response) => {
    order.push("asked");
    response.writeContinue();
    request.on("data", (bytes: Uint8Array) => order.push(new TextDecoder().decode(bytes)));
    request.on("end", () => response.writeHead(201).end());
  });
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, target: service });
  await using raw = await openUpload(tunnel, server.port);
  assert.equal((await raw.read()).status, 100);
  order.push("continued");
  raw.write("later");
  assert.equal((await raw.read()).status, 201);
  assert.deepEqual(order, ["asked", "continued", "later"]);
});

Deno.test("a service that ignores the expectation gets the body after a time limit", async () => {
  await using service = await startDecider((request, response) => {
    request.resume().on("end", () => response.writeHead(200).end());
  });
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, target: service });
  await using raw = await openUpload(tunnel, server.port);
  assert.equal((await raw.read()).status, 100);
  raw.write("later");
  assert.equal((await raw.read()).status, 200);
});

Deno.test("a share decides on an upload before the visitor sends its body", async () => {
  await using folder = await makeTempDir();
  await using server = await startServer();
  await using open = await startTunnel({ server, args: ["-fw", folder.path] });
  await using accepted = await openUpload(open, server.port, "PUT", "/a.txt");
  assert.equal((await accepted.read()).status, 100);
  accepted.write("later");
  assert.equal((await accepted.read()).status, 201);
  assert.equal(readFileSync(join(folder.path, "a.txt"), "utf8"), "later");
  await using closed = await startTunnel({ server, args: ["-f", folder.path] });
  await using refused = await openUpload(closed, server.port, "PUT", "/b.txt");
  assert.equal((await refused.read()).status, 403);
});
