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

const refused: [options: unknown, message: RegExp][] = [
  [{ port: 0 }, /"port" is 0: a whole number from 1 to 65535 is expected/],
  [{ port: 65536 }, /"port" is 65536/],
  [{ port: "80" }, /"port" is "80"/],
  [{ url: "localhost:3000" }, /"url" is "localhost:3000": a URL with http:\/\/ or https:\/\/ is expected/],
  [{ url: "ftp://x" }, /"url" is "ftp:\/\/x"/],
  [{ url: "no url" }, /"url" is "no url"/],
  [{ fetch: 3 }, /"fetch" is 3: a function is expected/],
  [{ folder: "" }, /"folder" is ""/],
  [{ folder: ".", writable: "yes" }, /"writable" is "yes"/],
  [{ port: 80, passphrase: "open sesame" }, /"passphrase" needs "folder"/],
  [{ port: 80, writable: true }, /"writable" needs "folder"/],
  [{ folder: ".", passphrase: "" }, /"passphrase" is ""/],
  [{ prot: 80 }, /unknown option "prot": did you mean "port"\?/],
  [{ port: 80, server: "example.com" }, /"server" is "example.com"/],
  [{ port: 80, signal: {} }, /"signal" is an object: an AbortSignal is expected/],
  [undefined, /options are expected/],
];

for (const [options, message] of refused) {
  Deno.test(`openTunnel(${JSON.stringify(options)}) is a TypeError that names the option`, async () => {
    const open = openTunnel as (options: unknown) => Promise<unknown>;
    await assert.rejects(open(options), (error) => error instanceof TypeError && message.test(error.message));
  });
}

Deno.test("openTunnel rejects with the reason of a signal that has aborted", async () => {
  const reason = new Error("not wanted");
  const signal = AbortSignal.abort(reason);
  await assert.rejects(openTunnel({ fetch: () => new Response(), signal }), (error) => error === reason);
});

Deno.test("a listener that throws stops no other, and one for close is called after the end too", async () => {
  const heard: string[] = [], requested = Promise.withResolvers<void>();
  const tunnel = await openTunnel({ fetch: () => new Response("hello") });
  tunnel.on("request", () => {
    throw new Error("a listener's mistake");
  });
  tunnel.on("request", ({ status }) => {
    heard.push(`request ${status}`);
    requested.resolve();
  });
  assert.equal(await (await visit(tunnel.url)).text(), "hello");
  await requested.promise;
  assert.equal(await (await visit(tunnel.url)).text(), "hello", "the session continues");
  await tunnel.close();
  const { promise, resolve } = Promise.withResolvers<string>();
  tunnel.on("close", ({ cause }) => resolve(cause));
  assert.equal(await promise, "stopped");
  assert.equal(heard[0], "request 200");
});

Deno.test("a visitor who disconnects amid a response is reported with status 499", async () => {
  const body = new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(new Uint8Array(1000)) });
  await using tunnel = await openTunnel({ fetch: () => new Response(body) });
  const requested = Promise.withResolvers<TunnelEventMap["request"]>();
  tunnel.on("request", requested.resolve);
  const { host, port } = new URL(tunnel.url);
  const visitor = await Deno.connect({ hostname: "127.0.0.1", port: Number(port) });
  await visitor.write(new TextEncoder().encode(`GET / HTTP/1.1\r\nhost: ${host}\r\n\r\n`));
  await visitor.read(new Uint8Array(1000));
  visitor.close();
  const { status, reason } = await requested.promise;
  assert.deepEqual([status, reason], [499, "the visitor disconnected"]);
});

Deno.test("a request that the service cannot handle is reported with the reason that its visitor sees", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  const serving = (async () => {
    for await (const connection of listener) {
      await connection.write(new TextEncoder().encode("220 smtp\r\n"));
      connection.close();
    }
  })();
  await using tunnel = await openTunnel({ port });
  const requested = Promise.withResolvers<TunnelEventMap["request"]>();
  tunnel.on("request", requested.resolve);
  const { error } = JSON.parse(await (await visit(tunnel.url, { headers: { accept: "application/json" } })).text());
  const { status, reason } = await requested.promise;
  assert.equal(status, 502);
  assert.match(error.details, /220 smtp/);
  assert.equal(reason, `${error.message} ${error.details}`);
  listener.close();
  await serving;
});

Deno.test("openTunnel says what is wrong: nothing to lead to, too much, a server that is not there", async () => {
  await assert.rejects(openTunnel({} as never), /one of port, url, folder and fetch is expected/);
  await assert.rejects(openTunnel({ port: 1, folder: "." } as never), TypeError);
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
