import assert from "node:assert/strict";
import fc from "fast-check";
import { Buffer } from "node:buffer";
import { createChunkedDecoder } from "../http1/mod.ts";
import { latin1, ScriptedConnection, settle } from "./_script.ts";
import { BodyWriter } from "./body_writer.ts";
import { UpstreamConnection } from "./connection.ts";
import { writeRequest } from "./exchange.ts";
import { BodyLengthError, type OutgoingFraming, type OutgoingRequest } from "./types.ts";

const HEAD = latin1("HEAD");

function createWriter(framing: OutgoingFraming) {
  const connection = new ScriptedConnection();
  const told = { written: 0, complete: 0, failures: [] as unknown[] };
  const writer = new BodyWriter(framing, {
    onBodyWritten: (bytes) => told.written += bytes,
    onBodyComplete: () => told.complete++,
    onBodyFailed: (error) => told.failures.push(error),
  });
  return { connection, writer, told };
}

/** A connection whose writes take as many turns as they are told, and read their bytes at the end of that time. */
function createSlowConnection(turns: () => number) {
  const written: Buffer[] = [];
  const connection = new UpstreamConnection(
    {
      read: () => Promise.resolve(null),
      async write(bytes) {
        await pass(turns());
        written.push(Buffer.from(bytes));
      },
      closeWrite: () => Promise.resolve(),
      close() {},
    },
    "http://upstream.test",
    () => {},
  );
  return { connection, written };
}

async function pass(turns: number): Promise<void> {
  for (let left = turns; left > 0; left--) await Promise.resolve();
}

function createRequest(framing: OutgoingFraming, body: AsyncIterable<Uint8Array>): OutgoingRequest {
  return { method: "POST", head: HEAD, framing, body, upgrade: false, ending: { reason: null, onEnd() {} } };
}

Deno.test("writeRequest sends every byte of a sequence once and in order, however pieces and writes fall", async () => {
  const sizes = fc.array(fc.oneof(fc.nat(20), fc.nat(20_000), fc.nat(400_000)), { maxLength: 12 });
  const turns = fc.infiniteStream(fc.nat(9));
  await fc.assert(
    fc.asyncProperty(sizes, turns, fc.boolean(), async (sizes, turns, chunked) => {
      const { connection, written } = createSlowConnection(() => turns.next().value ?? 0);
      const pieces = sizes.map((size, i) => Buffer.alloc(size, i + 1));
      const wanted = Buffer.concat(pieces);
      const give = async function* () {
        for (const piece of pieces) {
          await pass(turns.next().value ?? 0);
          yield piece;
          // Its memory is the caller's again.
          piece.fill(0xff);
        }
      };
      await writeRequest(connection, createRequest(chunked ? "chunked" : { length: wanted.length }, give()));
      const sent = Buffer.concat(written);
      assert.equal(sent.toString("latin1", 0, HEAD.length), "HEAD");
      const body = sent.subarray(HEAD.length);
      assert((chunked ? Buffer.concat(decode(body)) : body).equals(wanted));
    }),
    { numRuns: 200 },
  );
});

Deno.test("writeRequest asks for no more than a little ahead of what has been written", async () => {
  const peer = new ScriptedConnection();
  peer.holdWrites = true;
  const connection = new UpstreamConnection(peer, "http://upstream.test", () => {});
  let asked = 0;
  const give = async function* () {
    for (; asked < 100; asked++) yield new Uint8Array(16 * 1024);
  };
  const writing = writeRequest(connection, createRequest("chunked", give()));
  await settle();
  assert(asked >= 1 && asked < 8, `${asked} pieces while nothing was written`);
  peer.letWrite();
  await writing;
  assert.equal(asked, 100);
});

Deno.test("writeRequest fails when the connection breaks, and for a body of another length", async () => {
  const { connection } = createSlowConnection(() => 1);
  const give = async function* (size: number) {
    yield new Uint8Array(size);
  };
  for (const size of [4, 6]) {
    await assert.rejects(writeRequest(connection, createRequest({ length: 5 }, give(size))), BodyLengthError);
  }
  const peer = new ScriptedConnection();
  peer.failWrites = true;
  const broken = new UpstreamConnection(peer, "http://upstream.test", () => {});
  await assert.rejects(writeRequest(broken, createRequest("chunked", give(5))), { name: "ConnectionBroken" });
});

Deno.test("BodyWriter writes the first piece behind the head, and together what comes during a write", async () => {
  const { connection, writer, told } = createWriter({ length: 4 });
  connection.holdWrites = true;
  writer.start(connection, HEAD);
  writer.push(latin1("a"));
  await settle();
  for (const text of ["b", "c", "d"]) writer.push(latin1(text));
  writer.finish();
  assert.equal(told.written, 0);
  connection.letWrite();
  await settle();
  assert.deepEqual(connection.written.map((bytes) => String.fromCharCode(...bytes)), ["HEADa", "bcd"]);
  assert.deepEqual(told, { written: 4, complete: 1, failures: [] });
});

Deno.test("BodyWriter sends trailers behind the last chunk, and none that could be a request of their own", async () => {
  const { connection, writer } = createWriter("chunked");
  writer.push(latin1("hello"));
  writer.finish(latin1("a: b\r\n"));
  writer.start(connection, HEAD);
  await settle();
  assert.equal(connection.text, "HEAD5\r\nhello\r\n0\r\na: b\r\n\r\n");
  const { connection: other, writer: filtering } = createWriter("chunked");
  filtering.finish(latin1("Content-Length: 5\r\nHost: b\r\na: b\r\nX-Forwarded-For: 10.0.0.1\r\n"));
  filtering.start(other, HEAD);
  await settle();
  assert.equal(other.text, "HEAD0\r\na: b\r\n\r\n");
  for (const trailers of ["a: b\r\n\r\nGET / HTTP/1.1\r\n", "a: b"]) {
    const { writer, told } = createWriter("chunked");
    writer.finish(latin1(trailers));
    assert(told.failures[0] instanceof BodyLengthError);
  }
});

Deno.test("BodyWriter is complete at once when the body was written before its end was known", async () => {
  const { connection, writer, told } = createWriter({ length: 1 });
  writer.start(connection, HEAD);
  writer.push(latin1("a"));
  await settle();
  assert.equal(writer.complete, false);
  writer.finish();
  assert.deepEqual([writer.complete, told.complete], [true, 1]);
});

function decode(bytes: Buffer): Uint8Array[] {
  const decoder = createChunkedDecoder();
  const pieces: Uint8Array[] = [];
  const taken = decoder.push(bytes, (data) => pieces.push(data));
  assert(decoder.done && taken === bytes.length);
  return pieces;
}
