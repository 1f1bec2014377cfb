/** Portway as a library: what its users write, in this process. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CaptureRecord, openTunnel, startServer, tailView, type TunnelEventMap } from "../mod.ts";
import { makeTempDir, startSite, visit } from "./kit.ts";
import { startViewsServer } from "./views_kit.ts";

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

Deno.test("tailView gives each captured call once, in order, until its signal aborts", async () => {
  await using views = await startViewsServer();
  const { id, captureUrl } = await views.addView();
  const send = async (path: string) => await (await visit(captureUrl + path, { body: "x" })).text();
  await send("/before");
  const stop = new AbortController(), { server: { url: server }, token } = views;
  const calls: CaptureRecord[] = [];
  const sending = send("/a").then(() => send("/b"));
  for await (const call of tailView(id, { server, token, after: 0, signal: stop.signal })) {
    calls.push(call);
    if (calls.length === 3) stop.abort();
  }
  await sending;
  const paths = ["/before", "/a", "/b"].map((path) => new URL(captureUrl).pathname + path);
  assert.deepEqual(calls.map(({ method, path }) => [method, path]), paths.map((path) => ["POST", path]));
});

Deno.test("tailView says that a view is not there", async () => {
  await using views = await startViewsServer();
  const { server: { url: server }, token } = views;
  const id = "00000000-0000-4000-8000-000000000000";
  await assert.rejects(tailView(id, { server, token }).next(), /There is no request view/);
});

for (const document of ["mod.ts", "docs/guides/install.md"]) {
  Deno.test(`the examples in ${document} run as they stand, to their end`, async () => {
    await using folder = await makeTempDir();
    const root = new URL("../", import.meta.url);
    const text = (await readFile(new URL(document, root), "utf8")).replaceAll(/^ \* ?/gm, "");
    const examples = [...text.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code]) => code);
    assert(examples.length > 0);
    for (const code of examples) {
      const file = join(folder.path, "example.ts");
      await writeFile(file, code.replaceAll('from "portway"', `from "${new URL("mod.ts", root)}"`));
      const args = ["run", "-A", "--quiet", "--no-check", "--config", new URL("deno.json", root).pathname, file];
      const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
      assert(success, new TextDecoder().decode(stderr));
      assert.match(new TextDecoder().decode(stdout), /^http:\/\/\w+\.try\.localhost:\d+$/m);
    }
  });
}
