import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { once } from "node:events";
import type { Socket } from "node:net";
import process from "node:process";
import { listen, type Peer } from "./_test_peer.ts";
import { denoDriver } from "./deno.ts";
import { nodeDriver } from "./node.ts";
import { splice, type Spliced, type SpliceOptions } from "./splice.ts";
import type { Connection, Driver } from "./types.ts";

const DRIVERS: Readonly<Record<string, Driver>> = {
  ...(process.versions.deno !== undefined && { deno: denoDriver }),
  node: nodeDriver,
};

/** Two peers, each with its end of a connection of ours, joined. */
interface Joined extends AsyncDisposable {
  left: Socket;
  right: Socket;
  connections: [Connection, Connection];
  spliced: Promise<Spliced>;
}

async function join(driver: Driver, options?: SpliceOptions): Promise<Joined> {
  const sides = await Promise.all([openSide(driver), openSide(driver)]);
  const [left, right] = sides;
  return {
    left: left.socket,
    right: right.socket,
    connections: [left.connection, right.connection],
    spliced: splice(left.connection, right.connection, options),
    async [Symbol.asyncDispose]() {
      for (const { peer, connection } of sides) {
        connection.close();
        await peer[Symbol.asyncDispose]();
      }
    },
  };
}

async function openSide(driver: Driver): Promise<{ peer: Peer; socket: Socket; connection: Connection }> {
  const accepted = Promise.withResolvers<Socket>();
  const peer = await listen((socket) => accepted.resolve(socket));
  const connection = await driver.openTcp(peer.hostname, peer.port);
  return { peer, socket: await accepted.promise, connection };
}

/** All that comes until the other side ends. */
async function readAll(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(Buffer.from(chunk)));
  await once(socket, "end");
  return Buffer.concat(chunks);
}

const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

for (const [name, driver] of Object.entries(DRIVERS)) {
  const test = (what: string, run: () => Promise<void>) => Deno.test(`splice, ${name} driver: ${what}`, run);

  test("bytes pass both ways at once, every one of them, and are counted", async () => {
    const passed = { there: 0, back: 0 };
    await using joined = await join(driver, { onBytes: (count, direction) => passed[direction] += count });
    const { left, right, spliced } = joined;
    const there = Buffer.alloc(5_000_000, "abcdefghijk"), back = Buffer.alloc(3_000_000, "0123456");
    const received = Promise.all([readAll(left), readAll(right)]);
    left.end(there);
    right.end(back);
    const [atLeft, atRight] = await received;
    assert.equal(digest(atRight), digest(there));
    assert.equal(digest(atLeft), digest(back));
    assert.deepEqual(await spliced, { there: there.length, back: back.length, ended: "done" });
    assert.deepEqual(passed, { there: there.length, back: back.length });
  });

  test("a side that has ended its half is still answered", async () => {
    await using joined = await join(driver);
    const { left, right, spliced } = joined;
    left.end("question");
    assert.equal(String(await readAll(right)), "question");
    const answer = readAll(left);
    right.write("half of the ");
    right.end("answer");
    assert.equal(String(await answer), "half of the answer");
    assert.deepEqual(await spliced, { there: 8, back: 18, ended: "done" });
  });

  test("a side that breaks ends the other", async () => {
    await using joined = await join(driver);
    const { left, right, spliced } = joined;
    left.write("x");
    await once(right, "data");
    const closed = once(left, "close");
    right.resetAndDestroy();
    left.resume();
    left.on("end", () => left.end());
    await closed;
    assert.equal((await spliced).there, 1);
  });

  test("a signal ends both, also one that has aborted before", async () => {
    const abort = new AbortController();
    await using joined = await join(driver, { signal: abort.signal });
    const ended = Promise.all([once(joined.left.resume(), "end"), once(joined.right.resume(), "end")]);
    abort.abort();
    await ended;
    assert.equal((await joined.spliced).ended, "aborted");
    await using late = await join(driver, { signal: abort.signal });
    assert.deepEqual(await late.spliced, { there: 0, back: 0, ended: "aborted" });
  });

  test("silence of both sides ends both, after what there was has passed", async () => {
    await using joined = await join(driver, { idleMs: 20 });
    joined.left.write("last words");
    const received = readAll(joined.right);
    joined.left.resume();
    assert.deepEqual(await joined.spliced, { there: 10, back: 0, ended: "idle" });
    assert.equal(String(await received), "last words");
  });

  test("a peer that takes nothing holds up who sends, with a bounded number of bytes", async () => {
    let passed = 0;
    await using joined = await join(driver, { onBytes: (count) => passed += count });
    const { left, right } = joined;
    right.pause();
    const piece = Buffer.alloc(1 << 20);
    // Until the sockets on the way are full, and a write does not get through any more.
    let sent = 0;
    while (left.writableLength < 4 * piece.length && sent < 200 * piece.length) {
      left.write(piece);
      sent += piece.length;
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert(sent < 200 * piece.length, "everything was taken");
    assert(passed < sent, "more was read than could be written");
    const whole = readAll(right);
    right.resume();
    left.end();
    assert.equal((await whole).length, sent);
    assert.equal(passed, sent);
  });
}
