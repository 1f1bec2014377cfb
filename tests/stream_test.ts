/** Bodies that stream, and visitors who do not get into each other's way. */
import assert from "node:assert/strict";
import {
  createNoise,
  hashOf,
  openRaw,
  type Server,
  type Site,
  startRecorder,
  startServer,
  startSite,
  startTunnel,
  type Tunnel,
  visit,
} from "./kit.ts";

const text = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes);

async function withSite(
  run: (parts: { site: Site; server: Server; tunnel: Tunnel }) => Promise<void>,
  args: string[] = [],
): Promise<void> {
  await using site = startSite();
  await using server = await startServer({ args });
  await using tunnel = await startTunnel({ server, target: site });
  await run({ site, server, tunnel });
  await server.whenHealth(({ streams }) => streams === 0);
}

const TYPES = [
  "text/event-stream",
  "text/event-stream; charset=utf-8",
  "text/plain",
  "text/html",
  "application/json",
  "application/x-ndjson",
  "application/octet-stream",
  "image/png",
];

for (const listener of ["edge", "deno"]) {
  for (const type of TYPES) {
    Deno.test(`the first piece of a stream of ${type} arrives while the second is not there yet (${listener})`, async () => {
      await withSite(async ({ site, tunnel }) => {
        const answer = await visit(`${tunnel.url}/events?type=${encodeURIComponent(type)}`, {
          headers: { "accept-encoding": "gzip, br" },
        });
        assert.equal(answer.headers["content-type"], type);
        const pieces = answer.body[Symbol.asyncIterator]();
        assert.equal(text((await pieces.next()).value), "data: first\n\n");
        site.release();
        assert.equal(text((await pieces.next()).value), "data: second\n\n");
        assert((await pieces.next()).done);
      }, ["--listener", listener]);
    });
  }

  Deno.test(`a request's body and its answer stream at the same time (${listener})`, async () => {
    await withSite(async ({ tunnel }) => {
      const turns = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>();
      const writer = turns.writable.getWriter();
      // The service answers once the body begins.
      const first = writer.write(new TextEncoder().encode("turn 0"));
      const answer = await visit(`${tunnel.url}/echo`, { body: turns.readable });
      const pieces = answer.body[Symbol.asyncIterator]();
      await first;
      assert.equal(text((await pieces.next()).value), "turn 0");
      for (const turn of ["turn 1", "turn 2", "turn 3"]) {
        await writer.write(new TextEncoder().encode(turn));
        assert.equal(text((await pieces.next()).value), turn);
      }
      await writer.close();
      assert((await pieces.next()).done);
    }, ["--listener", listener]);
  });
}

Deno.test("an event stream whose visitor leaves ends for the service", async () => {
  await withSite(async ({ site, server, tunnel }) => {
    const answer = await visit(`${tunnel.url}/events`);
    await answer.body[Symbol.asyncIterator]().next();
    assert.equal((await server.health()).streams, 1);
    answer.leave();
    await site.log.waitFor("gone /events");
  });
});

Deno.test("a visitor who leaves before the answer is gone for the service", async () => {
  await withSite(async ({ site, server, tunnel }) => {
    await using raw = await openRaw(server.port);
    raw.write(`GET /hold HTTP/1.1\r\nHost: ${new URL(tunnel.url).host}\r\n\r\n`);
    await site.log.waitFor("open /hold");
    raw.reset();
    await site.log.waitFor("gone /hold");
  });
});

Deno.test("an answer that breaks off is one for the visitor too, not a short one", async () => {
  await using recorder = await startRecorder({
    answer({ startLine }, socket) {
      const isChunked = startLine.includes("/chunked");
      socket.write(
        "HTTP/1.1 200 OK\r\n" +
          (isChunked ? "transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n" : "content-length: 100\r\n\r\nhello"),
      );
      setTimeout(() => socket.resetAndDestroy(), 20);
      return null;
    },
  });
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, target: recorder });
  for (const path of ["/length", "/chunked"]) {
    const answer = await visit(`${tunnel.url}${path}`);
    assert.equal(answer.status, 200);
    await assert.rejects(answer.bytes(), path);
  }
});

for (const listener of ["edge", "deno"]) {
  Deno.test(`an answer before the request's body has been read is the last of its connection (${listener})`, async () => {
    await using service = startEarlyResponse();
    await using server = await startServer({ args: ["--listener", listener] });
    await using tunnel = await startTunnel({ server, target: service });
    await using raw = await openRaw(server.port);
    raw.write(`POST /early HTTP/1.1\r\nHost: ${new URL(tunnel.url).host}\r\ncontent-length: 1000000000\r\n\r\nbegin`);
    const { status, header } = await raw.read();
    // A visitor who goes on there, as curl does after 417, would be read as the rest of the body.
    assert.deepEqual([status, header("connection")], [413, "close"]);
  });
}

/** A service that refuses uploads by their head alone. */
function startEarlyResponse(): AsyncDisposable & { port: number } {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const serving = (async () => {
    for await (const connection of listener) {
      await connection.read(new Uint8Array(65_536));
      await connection.write(new TextEncoder().encode("HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nno\n"));
      connection.close();
    }
  })();
  return {
    port: listener.addr.port,
    async [Symbol.asyncDispose]() {
      listener.close();
      await serving;
    },
  };
}

Deno.test("200 visitors at a time each get their own answer", async () => {
  await withSite(async ({ tunnel }) => {
    const sizes = Array.from({ length: 200 }, (_, index) => 1000 + index * 997);
    await Promise.all(sizes.map(async (size, seed) => {
      const down = await visit(`${tunnel.url}/noise?size=${size}&seed=${seed}`);
      assert.equal(await hashOf(down.body), await hashOf(createNoise(size, seed)));
      const up = await visit(`${tunnel.url}/upload`, { body: createNoise(size, seed) });
      assert.deepEqual(await up.json(), { size, sha256: await hashOf(createNoise(size, seed)) });
    }));
  });
});

Deno.test("a visitor who takes nothing delays nobody, and the service is told to wait", async () => {
  const size = 200_000_000;
  await withSite(async ({ server, tunnel }) => {
    await using stalled = await openRaw(server.port);
    stalled.socket.pause();
    stalled.write(`GET /noise?size=${size} HTTP/1.1\r\nHost: ${new URL(tunnel.url).host}\r\n\r\n`);
    await server.whenHealth(({ streams }) => streams === 1);
    for (let seed = 0; seed < 20; seed++) {
      const answer = await visit(`${tunnel.url}/noise?size=1000000&seed=${seed}`);
      assert.equal(await hashOf(answer.body), await hashOf(createNoise(1_000_000, seed)));
    }
    // Its stream is still there: what it does not take waits in the service, not in memory of ours.
    assert.equal((await server.health()).streams, 1);
    stalled.reset();
  });
});

Deno.test("a service that takes nothing of one upload delays nobody", async () => {
  await withSite(async ({ site, server, tunnel }) => {
    await using stalled = await openRaw(server.port);
    // The site reads the body of /hold only after it was released.
    stalled.write(`POST /hold HTTP/1.1\r\nHost: ${new URL(tunnel.url).host}\r\ncontent-length: 100000000\r\n\r\n`);
    for (const piece of createNoise(20_000_000)) stalled.write(piece);
    await site.log.waitFor("open /hold");
    for (let seed = 0; seed < 20; seed++) {
      const answer = await visit(`${tunnel.url}/upload`, { body: createNoise(1_000_000, seed) });
      assert.deepEqual(await answer.json(), { size: 1_000_000, sha256: await hashOf(createNoise(1_000_000, seed)) });
    }
    // It answers without having read the rest, and that is the end of it.
    site.release();
    assert.equal((await stalled.read()).status, 200);
  });
});
