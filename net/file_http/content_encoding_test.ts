import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import zlib from "node:zlib";
import { chooseEncoding, codeAnswer, isCompressible } from "./content_encoding.ts";
import { checkConditions } from "./conditions.ts";
import { answerFile } from "./file_response.ts";

Deno.test("chooseEncoding returns the encoding with the highest weight, then the best one, and no excluded one", () => {
  const cases: [field: string | null, coding: string | null][] = [
    [null, null],
    ["", null],
    ["identity", null],
    ["gzip, deflate", "gzip"],
    ["gzip, deflate, br", "br"],
    ["gzip, deflate, br, zstd", "zstd"],
    ["BR;q=0.5, gzip;q=0.8", "gzip"],
    ["zstd;q=0, br", "br"],
    ["*", "zstd"],
    ["*;q=0", null],
    ["*;q=0, gzip", "gzip"],
    ["gzip;q=nonsense", null],
  ];
  for (const [field, coding] of cases) equal(chooseEncoding(field), coding, String(field));
});

Deno.test("isCompressible excludes compressed formats and event streams", () => {
  for (const type of ["text/html; charset=utf-8", "application/json", "image/svg+xml", "application/wasm"]) {
    ok(isCompressible(type), type);
  }
  for (const type of ["image/png", "application/zip", "video/mp4", "font/woff2", "text/event-stream"]) {
    ok(!isCompressible(type), type);
  }
});

const DECODE: Record<string, (bytes: Uint8Array) => Uint8Array> = {
  zstd: (bytes) => zlib.zstdDecompressSync(bytes),
  br: (bytes) => zlib.brotliDecompressSync(bytes),
  gzip: (bytes) => zlib.gunzipSync(bytes),
};

/** Creates a text file with that length, and responds to requests for it. */
function createResponses(
  length: number,
): { ask(headers: HeadersInit, method?: string): Promise<Response>; text: string } & Disposable {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "portway-coding-"));
  const text = "all work and no play ".repeat(length / 21 + 1).slice(0, length);
  const file = path.join(folder, "a.txt");
  fs.writeFileSync(file, text);
  return {
    text,
    ask(headers, method = "GET") {
      const fd = fs.openSync(file, "r");
      const source = { fd, stat: fs.fstatSync(fd), close: () => fs.closeSync(fd) };
      return Promise.resolve(
        answerFile(new Request("http://x/", { method, headers }), source, { name: "a.txt", compress: true }),
      );
    },
    [Symbol.dispose]: () => fs.rmSync(folder, { recursive: true }),
  };
}

for (const length of [1024, 10_000, 1_000_000]) {
  Deno.test(`a text with ${length} bytes is complete in every encoding, with its own entity tag`, async () => {
    using answers = createResponses(length);
    const plain = await answers.ask({});
    const tags = new Set([plain.headers.get("etag")]);
    equal(plain.headers.get("vary"), "accept-encoding");
    equal(await plain.text(), answers.text);
    for (const coding of ["zstd", "br", "gzip"]) {
      const coded = await answers.ask({ "accept-encoding": coding });
      equal(coded.headers.get("content-encoding"), coding);
      equal(coded.headers.get("accept-ranges"), null);
      const tag = coded.headers.get("etag") ?? "";
      ok(!tags.has(tag) && !tag.startsWith("W/"), tag);
      tags.add(tag);
      const bytes = new Uint8Array(await coded.arrayBuffer());
      equal(new TextDecoder().decode(DECODE[coding](bytes)), answers.text);
      ok(bytes.length < length / 2);
      equal((await answers.ask({ "accept-encoding": coding, "if-none-match": tag })).status, 304);
      const other = await answers.ask({ "if-none-match": tag });
      equal(other.status, 200);
      await other.body?.cancel();
      const head = await answers.ask({ "accept-encoding": coding }, "HEAD");
      deepEqual([head.headers.get("etag"), head.headers.get("content-encoding")], [tag, coding]);
    }
  });
}

Deno.test("a range refers to the plain form, and If-Range with a compressed form returns the whole file", async () => {
  using answers = createResponses(10_000);
  const accepts = { "accept-encoding": "gzip, br, zstd" };
  const part = await answers.ask({ ...accepts, range: "bytes=100-199" });
  deepEqual([part.status, part.headers.get("content-encoding")], [206, null]);
  equal(await part.text(), answers.text.slice(100, 200));
  const coded = await answers.ask(accepts);
  await coded.body?.cancel();
  notEqual(coded.headers.get("etag"), part.headers.get("etag"));
  const whole = await answers.ask({ ...accepts, range: "bytes=100-", "if-range": coded.headers.get("etag") ?? "" });
  deepEqual([whole.status, await whole.text()], [200, answers.text]);
});

Deno.test("the entity tag of a compressed form permits a change of its file", () => {
  const current = { tag: '"abc"', modified: 0 };
  const put = (headers: HeadersInit) => new Request("http://x/", { method: "PUT", headers });
  checkConditions(put({ "if-match": '"abc-zstd"' }), current);
  let refused = 0;
  for (const tag of ['"abd-zstd"', 'W/"abc-zstd"', '"abc-zip"']) {
    try {
      checkConditions(put({ "if-match": tag }), current);
    } catch {
      refused++;
    }
  }
  equal(refused, 3);
});

Deno.test("codeAnswer compresses long responses while they are sent and leaves short ones unchanged", async () => {
  const pieces = Array.from({ length: 100 }, (_, index) => `{"piece":${index}}`.repeat(1000));
  const body = ReadableStream.from(pieces).pipeThrough(new TextEncoderStream());
  const json = { "content-type": "application/json", "vary": "cookie" };
  const long = await codeAnswer("gzip", new Response(body, { headers: json }));
  deepEqual([long.headers.get("content-encoding"), long.headers.get("vary")], ["gzip", "cookie, accept-encoding"]);
  equal(new TextDecoder().decode(DECODE.gzip(new Uint8Array(await long.arrayBuffer()))), pieces.join(""));
  const short = await codeAnswer("gzip", new Response("{}", { headers: { ...json, "content-length": "2" } }));
  deepEqual([short.headers.get("content-encoding"), await short.text()], [null, "{}"]);
});

Deno.test("a compressed stream that its reader cancels ends its source", async () => {
  let isEnded = false;
  async function* makePieces() {
    try {
      for (;;) yield new TextEncoder().encode(String(Math.random()).repeat(5000));
    } finally {
      isEnded = true;
    }
  }
  const response = await codeAnswer(
    "br",
    new Response(ReadableStream.from(makePieces()), { headers: { "content-type": "text/plain" } }),
  );
  const reader = response.body?.getReader();
  await reader?.read();
  await reader?.cancel();
  while (!isEnded) await new Promise((resolve) => setTimeout(resolve, 5));
});
