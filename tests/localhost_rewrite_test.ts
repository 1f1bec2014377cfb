/** `--localhost-rewrite`: an app that links to itself by its local address, through the real client and server. */
import assert from "node:assert/strict";
import zlib from "node:zlib";
import { makeTempDir, startServer, startTunnel, type Tunnel, visit } from "./kit.ts";

/** An app that knows itself as `http://localhost:<port>` only. */
function startApp(): { port: number; release(): void } & AsyncDisposable {
  const released = Promise.withResolvers<void>();
  const serve: Deno.ServeHandler<Deno.NetAddr> = (request) => {
    const self = `http://localhost:${server.addr.port}`;
    return answer(request, self, released.promise);
  };
  const server: Deno.HttpServer<Deno.NetAddr> = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    serve,
  );
  return {
    port: server.addr.port,
    release: released.resolve,
    async [Symbol.asyncDispose]() {
      released.resolve();
      await server.shutdown();
    },
  };
}

function answer(request: Request, self: string, released: Promise<void>): Response {
  switch (new URL(request.url).pathname) {
    case "/":
      return answerPage(page(self), request.headers.get("accept-encoding") ?? "");
    case "/state.json":
      return new Response(JSON.stringify({ self, other: "http://localhost:1" }).replaceAll("/", "\\/"), {
        headers: { "content-type": "application/json" },
      });
    case "/events":
      return answerEvents(self, released);
    case "/same":
      return new Response(null, { status: 304, headers: { etag: request.headers.get("if-none-match") ?? '"none"' } });
    case "/picture":
      return new Response(self, { headers: { "content-type": "image/png" } });
    default:
      return new Response(null, { status: 302, headers: { location: `${self}/` } });
  }
}

const CODERS = {
  gzip: [zlib.gzipSync, zlib.gunzipSync],
  br: [zlib.brotliCompressSync, zlib.brotliDecompressSync],
  zstd: [zlib.zstdCompressSync, zlib.zstdDecompressSync],
} as const;

function answerPage(text: string, asked: string): Response {
  const headers = new Headers({ "content-type": "text/html; charset=utf-8", etag: '"v1"' });
  const coding = (["gzip", "br", "zstd"] as const).find((coding) => asked.includes(coding));
  if (coding === undefined) return new Response(text, { headers });
  headers.set("content-encoding", coding);
  return new Response(new Uint8Array(CODERS[coding][0](text)), { headers });
}

function answerEvents(self: string, released: Promise<void>): Response {
  async function* events() {
    yield `data: ${self}/1\n\n`;
    await released;
    yield `data: ${self}/2\n\n`;
  }
  return new Response(ReadableStream.from(events()).pipeThrough(new TextEncoderStream()), {
    headers: { "content-type": "text/event-stream" },
  });
}

async function open(args: string[] = ["--localhost-rewrite"]) {
  await using stack = new AsyncDisposableStack();
  const app = stack.use(startApp());
  const server = stack.use(await startServer());
  const tunnel = stack.use(await startTunnel({ server, target: app.port, args }));
  const owned = stack.move();
  return { app, server, tunnel, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

const page = (url: string) => `<link rel=stylesheet href="${url}/app.css"><a href="${url}/next">next</a>`.repeat(200);
const get = async ({ url }: Tunnel, path: string, headers: Record<string, string> = {}) =>
  await visit(`${url}${path}`, { headers });

Deno.test("links in a page, in JSON and in a redirect lead to the tunnel", async () => {
  await using opened = await open();
  const { tunnel } = opened;
  assert.equal(await (await get(tunnel, "/")).text(), page(tunnel.url));
  assert.deepEqual(await (await get(tunnel, "/state.json")).json(), { self: tunnel.url, other: "http://localhost:1" });
  assert.equal((await get(tunnel, "/login")).headers.location, `${tunnel.url}/`);
});

Deno.test("without the option they stay as they are", async () => {
  await using opened = await open([]);
  const { app, tunnel } = opened;
  assert.equal(await (await get(tunnel, "/")).text(), page(`http://localhost:${app.port}`));
});

for (const [coding, [, decode]] of Object.entries(CODERS)) {
  Deno.test(`a page that the service sends in ${coding} reaches the visitor in ${coding}`, async () => {
    await using opened = await open();
    const answer = await get(opened.tunnel, "/", { "accept-encoding": coding });
    assert.equal(answer.headers["content-encoding"], coding);
    assert.equal(answer.headers["content-length"], undefined);
    assert.equal(decode(await answer.bytes()).toString(), page(opened.tunnel.url));
  });
}

Deno.test("an event of a stream comes when it is sent, not when the stream ends", async () => {
  await using opened = await open();
  const { app, tunnel } = opened;
  const answer = await get(tunnel, "/events");
  let text = "";
  for await (const bytes of answer.body) {
    text += new TextDecoder().decode(bytes);
    if (text === `data: ${tunnel.url}/1\n\n`) app.release();
  }
  assert.equal(text, `data: ${tunnel.url}/1\n\ndata: ${tunnel.url}/2\n\n`);
});

Deno.test("a page that has not changed is known by the tag that the visitor got", async () => {
  await using opened = await open();
  const etag = (await get(opened.tunnel, "/")).headers.etag;
  assert.equal(etag, 'W/"v1-links"');
  const answer = await get(opened.tunnel, "/same", { "if-none-match": etag });
  assert.deepEqual([answer.status, answer.headers.etag], [304, etag]);
});

Deno.test("what is no text passes as it is, and HEAD of a page names no length that GET would not have", async () => {
  await using opened = await open();
  const { app, tunnel } = opened;
  assert.equal(await (await get(tunnel, "/picture")).text(), `http://localhost:${app.port}`);
  const head = await visit(`${tunnel.url}/`, { method: "HEAD" });
  assert.equal(head.headers["content-length"], undefined);
  assert.equal(head.headers.etag, 'W/"v1-links"');
});

Deno.test("--resume goes on rewriting without being told", async () => {
  await using stack = new AsyncDisposableStack();
  const app = stack.use(startApp());
  const server = stack.use(await startServer());
  const configDir = stack.use(await makeTempDir()).path;
  const first = await startTunnel({ server, target: app.port, args: ["--localhost-rewrite"], configDir });
  await first.stop();
  const tunnel = stack.use(await startTunnel({ server, args: ["--resume"], configDir }));
  assert.equal(await (await get(tunnel, "/")).text(), page(tunnel.url));
});
