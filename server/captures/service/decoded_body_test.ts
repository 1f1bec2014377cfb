import { equal, rejects } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { BodyCut } from "../../../net/listener/mod.ts";
import { beginDecoded, MAX_DECODED } from "./decoded_body.ts";

async function* chunks(...all: Uint8Array[]): AsyncGenerator<Uint8Array, void> {
  for (const chunk of all) yield await Promise.resolve(chunk);
}

const GZIP = { headers: ["Host", "x", "content-ENCODING", "gzip"] };

Deno.test("a body that holds more than is told, or is broken, is cut behind what was told, and no listener logs that", async () => {
  const bomb = gzipSync(new Uint8Array(MAX_DECODED + 1), { level: 1 });
  const broken = gzipSync(randomBytes(200_000));
  broken.fill(0xff, 150_000);
  for (const bytes of [bomb, broken]) {
    const { first, rest } = await beginDecoded(GZIP, chunks(bytes.subarray(0, 100_000), bytes.subarray(100_000)));
    equal(first.length > 0, true);
    await rejects(async () => {
      for await (const _ of rest);
    }, BodyCut);
  }
});

Deno.test("a body with bytes behind the end of what is coded is told as far as it is, and then cut", async () => {
  for (
    const parts of [[gzipSync("hello"), Buffer.from("other")], [Buffer.concat([gzipSync("hello"), Buffer.from("x")])]]
  ) {
    const { first, rest } = await beginDecoded(GZIP, chunks(...parts));
    equal(new TextDecoder().decode(first), "hello");
    await rejects(rest.next(), BodyCut);
  }
});

Deno.test("a body that fails while it is read fails as it did", async () => {
  const fault = new Error("gone");
  async function* broken() {
    yield* chunks(gzipSync(randomBytes(200_000)).subarray(0, 100_000));
    throw fault;
  }
  await rejects(async () => {
    // Earlier chunks may have arrived or not.
    const { rest } = await beginDecoded(GZIP, broken());
    for await (const _ of rest);
  }, fault);
});
