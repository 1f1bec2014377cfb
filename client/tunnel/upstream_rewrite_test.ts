import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import zlib from "node:zlib";
import { latin1, scriptConnect, settle } from "../../net/upstream/_script.ts";
import { createRelayEnd, type Visit } from "./_relay_end.ts";
import { exposeSeveral } from "./rewrite/mod.ts";
import { createUpstream } from "./upstream.ts";
import { Opening } from "../../protocol/mod.ts";

const HOST = "app-x1.t.example";
const head = (method: string, fields = "", host = HOST) =>
  `${method} /x HTTP/1.1\r\nhost: ${host}\r\nx-forwarded-proto: https\r\n${fields}\r\n`;
const GET = head("GET");

interface StartOptions {
  /** Of the service. */
  port?: number;
  hostHeader?: string | null;
}

function start({ port = 3000, hostHeader = `localhost:${port}` }: StartOptions = {}) {
  const script = scriptConnect();
  const target = createUpstream({
    url: new URL(`http://localhost:${port}`),
    connect: script.connect,
    hostHeader,
    rewrite: exposeSeveral({ defaultPort: 3000, allowed: [4000] }),
  });
  return { ...script, ...createRelayEnd(target), stop: () => target.close() };
}

/** What a visitor gets of that answer. */
async function ask(answer: string | Uint8Array, request = GET, options?: StartOptions) {
  const { connections, visit, stop } = start(options);
  const visitor = visit(request);
  await settle();
  connections[0].send(answer);
  if (!/^HTTP\/1.1 304|content-length|chunked/.test(typeof answer === "string" ? answer : "content-length")) {
    connections[0].end();
  }
  await visitor.until();
  const sent = connections[0].text;
  await stop();
  return { visitor, sent };
}

const field = ({ head }: Visit, name: string) => new RegExp(`^${name}: (.*)\r$`, "im").exec(head)?.[1] ?? null;

const page = (fields: string, body: string, status = "200 OK") =>
  `HTTP/1.1 ${status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: ${body.length}\r\n${fields}\r\n${body}`;

Deno.test("a page that is whole has public links and its new length", async () => {
  const { visitor } = await ask(
    page("", '<a href="http://localhost:3000/a">a</a> <a href="http://localhost:4000">b</a>'),
  );
  assert.equal(visitor.state, "end");
  const expected = `<a href="https://${HOST}/a">a</a> <a href="https://app-x1--4000.t.example">b</a>`;
  assert.equal(visitor.body, expected);
  assert.equal(field(visitor, "content-length"), String(expected.length));
});

for (const framing of ["length", "chunked", "close"]) {
  Deno.test(`a body with the framing ${framing} is rewritten as it comes, wherever it is cut`, async () => {
    const body = `<a href="http://localhost:3000/a"></a>`.repeat(3);
    for (let cut = 1; cut < body.length; cut += 5) {
      const { connections, visit, stop } = start();
      const visitor = visit(GET);
      await settle();
      const fields = framing === "length"
        ? `content-length: ${body.length}\r\n`
        : framing === "chunked"
        ? "transfer-encoding: chunked\r\n"
        : "";
      const pack = (text: string) => framing === "chunked" ? `${text.length.toString(16)}\r\n${text}\r\n` : text;
      connections[0].send(`HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n${fields}\r\n${pack(body.slice(0, cut))}`);
      await settle();
      connections[0].send(
        pack(body.slice(cut)) + (framing === "chunked" ? "0\r\nx-end: 1\r\ndigest: a=b\r\n\r\n" : ""),
      );
      if (framing === "close") connections[0].end();
      await visitor.until();
      assert.equal(visitor.state, "end");
      assert.equal(visitor.body, `<a href="https://${HOST}/a"></a>`.repeat(3), `cut at ${cut}`);
      assert.equal(field(visitor, "content-length"), null);
      if (framing === "chunked") assert.equal(visitor.trailers, "x-end: 1\r\n");
      await settle();
      assert.equal(connections[0].closed, framing === "close");
      await stop();
    }
  });
}

Deno.test("each event of a stream goes on at once", async () => {
  const { connections, visit, stop } = start();
  const visitor = visit(GET);
  await settle();
  connections[0].send(
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache, no-transform\r\n\r\n",
  );
  await settle();
  connections[0].send("data: http://localhost:3000/1\n\n");
  await visitor.until(({ body }) => body === `data: https://${HOST}/1\n\n`);
  connections[0].send("data: http://localhost:4000\n\n");
  await visitor.until(({ body }) => body.endsWith("\n\ndata: https://app-x1--4000.t.example\n\n"));
  connections[0].end();
  assert.equal((await visitor.until()).state, "end");
  await stop();
});

const coders = {
  gzip: [zlib.gzipSync, zlib.gunzipSync],
  "x-gzip": [zlib.gzipSync, zlib.gunzipSync],
  deflate: [zlib.deflateSync, zlib.inflateSync],
  br: [zlib.brotliCompressSync, zlib.brotliDecompressSync],
  zstd: [zlib.zstdCompressSync, zlib.zstdDecompressSync],
} as const;

const LONG = `<a href="http://localhost:3000/a?b=c">link</a> and some text\n`.repeat(2000);
const LONG_PUBLIC = LONG.replaceAll("http://localhost:3000", `https://${HOST}`);

function codedAnswer(coding: string, coded: Uint8Array): { head: string; body: Uint8Array } {
  const fields = `content-type: text/html\r\ncontent-encoding: ${coding}\r\ncontent-length: ${coded.length}\r\n`;
  return { head: `HTTP/1.1 200 OK\r\n${fields}\r\n`, body: coded };
}

for (const [coding, [code, decode]] of Object.entries(coders)) {
  for (const pieces of [1, 100, 10_000]) {
    Deno.test(`a body coded with ${coding} is rewritten and coded again, in ${pieces} pieces`, async () => {
      const { connections, visit, stop } = start();
      const visitor = visit(GET);
      await settle();
      const { head, body } = codedAnswer(coding, code(LONG));
      connections[0].send(head);
      const size = Math.ceil(body.length / pieces);
      for (let at = 0; at < body.length; at += size) connections[0].send(body.subarray(at, at + size));
      await visitor.until();
      assert.equal(visitor.state, "end");
      assert.equal(field(visitor, "content-encoding"), coding);
      assert.equal(field(visitor, "content-length"), null);
      assert.equal(decode(latin1(visitor.body)).toString(), LONG_PUBLIC);
      assert.equal(connections[0].closed, false);
      await stop();
    });
  }
}

Deno.test("deflate without zlib's head stays without", async () => {
  const { head, body } = codedAnswer("deflate", zlib.deflateRawSync(LONG));
  const { visitor } = await ask(Buffer.concat([Buffer.from(head), body]));
  assert.equal(zlib.inflateRawSync(latin1(visitor.body)).toString(), LONG_PUBLIC);
});

for (
  const [coding, create, decode] of [
    ["gzip", () => zlib.createGzip({ flush: zlib.constants.Z_SYNC_FLUSH }), () => zlib.createGunzip()],
    [
      "br",
      () => zlib.createBrotliCompress({ flush: zlib.constants.BROTLI_OPERATION_FLUSH }),
      zlib.createBrotliDecompress,
    ],
    ["zstd", () => zlib.createZstdCompress({ flush: zlib.constants.ZSTD_e_flush }), zlib.createZstdDecompress],
  ] as const
) {
  Deno.test(`what a service has flushed with ${coding} can be read by the visitor at once`, async () => {
    const { connections, visit, stop } = start();
    const visitor = visit(GET);
    await settle();
    connections[0].send(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: ${coding}\r\n\r\n`);
    const coder = create(), reader = decode();
    coder.on("data", (bytes: Uint8Array) => connections[0].send(bytes));
    let text = "", passed = 0;
    reader.on("data", (bytes: Uint8Array) => text += String(bytes));
    const wanted = async (expected: string) => {
      while (text !== expected) {
        await visitor.until(({ body }) => body.length > passed);
        const body = latin1(visitor.body.slice(passed));
        passed += body.length;
        await new Promise<void>((resolve) => void reader.write(body, () => resolve()));
        await settle();
      }
    };
    coder.write("data: http://localhost:3000/1\n\n");
    await wanted(`data: https://${HOST}/1\n\n`);
    coder.write("data: 2\n\n");
    await wanted(`data: https://${HOST}/1\n\ndata: 2\n\n`);
    connections[0].end();
    coder.destroy();
    reader.destroy();
    await visitor.until();
    await stop();
  });
}

Deno.test("what is not of its coding ends the answer, and says so", async () => {
  const { connections, visit, stop } = start();
  const visitor = visit(GET);
  await settle();
  // More of it is announced than comes: nobody waits for that.
  connections[0].send(
    "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-encoding: gzip\r\ncontent-length: 999\r\n\r\nhello",
  );
  await visitor.until();
  assert.match(visitor.state, /^reset \d+: what it sends is not gzip/);
  await settle();
  assert.equal(connections[0].closed, true);
  await stop();
});

Deno.test("a visitor who leaves ends a coded answer that goes on", async () => {
  const { connections, visit, stop, client } = start();
  const visitor = visit(GET);
  await settle();
  connections[0].send("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-encoding: gzip\r\n\r\n");
  connections[0].send(zlib.gzipSync(LONG).subarray(0, 200));
  await visitor.until(({ size }) => size > 0);
  visitor.stream.reset(0);
  await settle();
  assert.equal(connections[0].closed, true);
  assert.equal(client.size, 0);
  await stop();
});

const LINK = "http://localhost:3000/";
const asItIs: [name: string, fields: string, status?: string][] = [
  ["an image", "content-type: image/png\r\n"],
  ["no type", ""],
  ["two types", "content-type: text/html\r\ncontent-type: text/plain\r\n"],
  ["UTF-16", "content-type: text/html; charset=utf-16\r\n"],
  ["no-transform", "content-type: text/html\r\ncache-control: public, no-transform\r\n"],
  ["a coding that nobody knows", "content-type: text/html\r\ncontent-encoding: dcb\r\n"],
  ["two codings", "content-type: text/html\r\ncontent-encoding: gzip, br\r\n"],
  ["a part of it", "content-type: text/html\r\ncontent-range: bytes 0-21/100\r\n", "206 Partial Content"],
];
for (const [name, fields, status = "200 OK"] of asItIs) {
  Deno.test(`an answer with ${name} passes as it is`, async () => {
    const more = `etag: "a"\r\naccept-ranges: bytes\r\ndigest: x\r\ncontent-length: ${LINK.length}\r\n`;
    const { visitor } = await ask(`HTTP/1.1 ${status}\r\n${fields}${more}\r\n${LINK}`);
    assert.equal(visitor.body, LINK);
    assert.equal(visitor.head, `${status.slice(4)}\r\n${fields}${more}`);
  });
}

const types = [
  "text/html",
  "TEXT/HTML; Charset=UTF-8",
  'text/css; charset="iso-8859-1"',
  "application/javascript",
  "application/json",
  "application/vnd.api+json; charset=utf-8",
  "application/xml",
  "image/svg+xml",
  "application/rss+xml",
  "application/manifest+json",
  "application/vnd.apple.mpegurl",
  "text/plain",
];
for (const type of types) {
  Deno.test(`links in ${type} become public`, async () => {
    const { visitor } = await ask(
      `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${LINK.length}\r\n\r\n${LINK}`,
    );
    assert.equal(visitor.body, `https://${HOST}/`);
  });
}

Deno.test("what is true only of the service's own bytes is left out, and the tag becomes a weak one", async () => {
  const fields =
    'etag: "a1"\r\naccept-ranges: bytes\r\ncontent-md5: x\r\ndigest: y\r\ncontent-digest: z\r\nx-other: 1\r\n';
  const { visitor } = await ask(page(fields, LINK));
  const length = `https://${HOST}/`.length;
  assert.equal(
    visitor.head,
    `OK\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: ${length}\r\netag: W/"a1-links"\r\nx-other: 1\r\n`,
  );
});

Deno.test("HEAD tells of a page what GET does, without a length that nobody knows", async () => {
  const { visitor } = await ask(
    page('etag: "a1"\r\naccept-ranges: bytes\r\n', "").replace(" 0\r", " 22\r"),
    head("HEAD"),
  );
  assert.equal(visitor.head, 'OK\r\ncontent-type: text/html; charset=utf-8\r\netag: W/"a1-links"\r\n');
});

Deno.test("an empty page keeps its length", async () => {
  const { visitor } = await ask(page("location: http://localhost:4000/login\r\n", "", "302 Found"));
  assert.equal(field(visitor, "content-length"), "0");
  assert.equal(field(visitor, "location"), "https://app-x1--4000.t.example/login");
});

Deno.test("the service gets its own tags back, and a 304 has the visitor's", async () => {
  const { visitor, sent } = await ask(
    'HTTP/1.1 304 Not Modified\r\netag: "a1"\r\n\r\n',
    head("GET", 'if-none-match: "b2", W/"a1-links", W/"c3"\r\n'),
  );
  assert.match(sent, /\r\nif-none-match: "b2", "a1", W\/"c3"\r\n/);
  assert.equal(field(visitor, "etag"), 'W/"a1-links"');
  const other = await ask('HTTP/1.1 304 Not Modified\r\netag: "b2"\r\n\r\n', head("GET", 'if-none-match: "b2"\r\n'));
  assert.equal(field(other.visitor, "etag"), '"b2"');
});

Deno.test("If-Match names the service's own tag too", async () => {
  const { sent } = await ask(page("", ""), head("DELETE", 'if-match: W/"a1-links"\r\n'));
  assert.match(sent, /\r\nif-match: "a1"\r\n/);
});

const codings: [asked: string, sent: string][] = [
  ["gzip, deflate, br, zstd", "gzip, deflate, br, zstd"],
  ["gzip, dcb, dcz;q=0.9, br;q=0.5", "gzip, br;q=0.5"],
  ["*", "identity"],
  ["compress;q=0.5, *;q=0", "identity"],
  ["identity;q=0.5, x-gzip", "identity;q=0.5, x-gzip"],
];
for (const [asked, expected] of codings) {
  Deno.test(`of the codings "${asked}" the service is asked for "${expected}"`, async () => {
    const { sent } = await ask(page("", ""), head("GET", `accept-encoding: ${asked}\r\n`));
    assert.match(sent, new RegExp(`\r\naccept-encoding: ${expected.replaceAll("*", "\\*")}\r\n`));
  });
}

Deno.test("what a page of another port of the tunnel sends says so by its local origin, and that may read it", async () => {
  const { sent, visitor } = await ask(
    page("access-control-allow-origin: http://localhost:3000\r\n", ""),
    head("GET", `origin: https://${HOST}\r\nreferer: https://${HOST}/a?b\r\n`, "app-x1--4000.t.example"),
    { port: 4000 },
  );
  assert.match(sent, /\r\nhost: localhost:4000\r\n/);
  assert.match(sent, /\r\norigin: http:\/\/localhost:3000\r\nreferer: http:\/\/localhost:3000\/a\?b\r\n/);
  assert.equal(field(visitor, "access-control-allow-origin"), `https://${HOST}`);
});

Deno.test("a policy that names the local host names the public ones", async () => {
  const policy =
    "default-src 'self' http://localhost:3000; connect-src localhost:4000 ws://localhost:* https://a.example;" +
    " img-src http://localhost:5000 data:";
  const { visitor } = await ask(page(`content-security-policy: ${policy}\r\n`, ""));
  assert.equal(
    field(visitor, "content-security-policy"),
    `default-src 'self' https://${HOST}; connect-src app-x1--4000.t.example wss://${HOST} wss://app-x1--4000.t.example ` +
      "https://a.example; img-src http://localhost:5000 data:",
  );
});

Deno.test("bodies of requests, and what they ask for, reach the service as they are", async () => {
  const { connections, visit, stop } = start();
  const visitor = visit(
    `POST /x?next=https%3A%2F%2F${HOST} HTTP/1.1\r\nhost: ${HOST}\r\ncontent-length: 5\r\n\r\n`,
    Opening.withBody,
  );
  await visitor.stream.write(latin1("hello"), true);
  await settle();
  assert.equal(
    connections[0].text,
    `POST /x?next=https%3A%2F%2F${HOST} HTTP/1.1\r\nhost: localhost:3000\r\ncontent-length: 5\r\n\r\nhello`,
  );
  await stop();
});

Deno.test("an upgrade's bytes pass as they are", async () => {
  const { connections, visit, stop } = start();
  const upgrade = head("GET", "connection: Upgrade\r\nupgrade: websocket\r\n");
  const visitor = visit(upgrade, Opening.upgrade);
  await settle();
  connections[0].send(`HTTP/1.1 101 Switching Protocols\r\ncontent-type: text/plain\r\n\r\n${LINK}`);
  await visitor.until(({ body }) => body === LINK);
  connections[0].end();
  visitor.stream.end();
  await visitor.until();
  await stop();
});

Deno.test("a service that sees the public Host has its links rewritten all the same", async () => {
  const { sent, visitor } = await ask(page("location: http://localhost:3000/b\r\n", LINK), GET, { hostHeader: null });
  assert.match(sent, new RegExp(`\r\nhost: ${HOST}\r\n`));
  assert.equal(visitor.body, `https://${HOST}/`);
  assert.equal(field(visitor, "location"), `https://${HOST}/b`);
});
