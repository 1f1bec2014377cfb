/** Portway as a library: what its users write, in this process. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openTunnel, startServer, type TunnelEventMap } from "../mod.ts";
import { makeTempDir, startSite, visit } from "./kit.ts";

Deno.test("openTunnel carries requests to a function, tells of them, and ends when it is disposed of", async () => {
  const server = await startServer({ port: 0, dataDir: ":memory:" });
  const requests: TunnelEventMap["request"][] = [];
  let url: string;
  {
    await using tunnel = await openTunnel({
      server: server.url,
      fetch: async (request) => new Response(`${request.method} ${await request.text()}`),
    });
    url = tunnel.url;
    const told = Promise.withResolvers<void>();
    tunnel.on("request", (request) => {
      requests.push(request);
      told.resolve();
    });
    assert.equal(await (await visit(`${url}/a`, { method: "POST", body: "hello" })).text(), "POST hello");
    await told.promise;
    assert(tunnel.expiresAt.getTime() > Date.now());
  }
  assert.deepEqual(requests.map(({ method, path, status }) => [method, path, status]), [["POST", "/a", 200]]);
  assert.equal((await visit(`${url}/a`)).status, 503);
  await server.close();
});

Deno.test("openTunnel leads to a port, and shares a folder behind a passphrase, without a server of its own", async () => {
  await using site = startSite();
  await using folder = await makeTempDir();
  await writeFile(join(folder.path, "a.txt"), "of the folder");
  await using toPort = await openTunnel({ port: site.port });
  assert.equal(await (await visit(`${toPort.url}/text`)).text(), "hello");
  await using toFolder = await openTunnel({ folder: folder.path });
  assert.equal(await (await visit(`${toFolder.url}/a.txt`)).text(), "of the folder");
  await using closed = await openTunnel({ folder: folder.path, passphrase: "open sesame" });
  assert.equal((await visit(`${closed.url}/a.txt`)).status, 401);
});

Deno.test("openTunnel says what is wrong: nothing to lead to, too much, a server that is not there", async () => {
  await assert.rejects(openTunnel({}), /one of port, url, folder and fetch is wanted/);
  await assert.rejects(openTunnel({ port: 1, folder: "." }), TypeError);
  await assert.rejects(openTunnel({ port: 1, server: "http://127.0.0.1:1" }), /cannot reach the server/);
  await assert.rejects(openTunnel({ folder: "/nonexistent" }), /nonexistent/);
});

Deno.test("a tunnel closes when its signal aborts, and a function that throws is answered for with 500", async () => {
  const stop = new AbortController();
  const tunnel = await openTunnel({ fetch: () => Promise.reject(new Error("as planned")), signal: stop.signal });
  assert.equal((await visit(tunnel.url)).status, 500);
  stop.abort();
  assert.equal((await tunnel.closed).cause, "stopped");
});

Deno.test("startServer names options that there are none of, and values that cannot be used", async () => {
  await assert.rejects(startServer({ prot: 0 }), /there is no option "prot": did you mean port\?/);
  await assert.rejects(startServer({ port: 99999 }), /99999/);
});
