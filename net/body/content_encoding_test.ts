import { deepEqual, equal, rejects } from "node:assert/strict";
import { Buffer } from "node:buffer";
import zlib from "node:zlib";
import { type ContentEncoding, decodeBeginning, decodeBody, NotDecoded, parseEncodings } from "./content_encoding.ts";
import { HAS_ZSTD } from "./zstd.ts";

const CODERS: readonly (readonly [name: string, coding: ContentEncoding, code: (text: string) => Uint8Array])[] = [
  ["gzip", "gzip", zlib.gzipSync],
  ["deflate", "deflate", zlib.deflateSync],
  ["deflate without zlib's head", "deflate", zlib.deflateRawSync],
  ["br", "br", zlib.brotliCompressSync],
  ...(HAS_ZSTD ? [["zstd", "zstd", zlib.zstdCompressSync] as const] : []),
];
const TEXT = Array.from({ length: 60_000 }, (_, at) => `${(at * 7919) % 10_007}\n`).join("");

async function* cut(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array, void> {
  yield new Uint8Array(0);
  for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size));
}

async function read(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all).toString();
}

for (const [name, coding, code] of CODERS) {
  for (const size of [7, 4096, 1e9]) {
    Deno.test(`decodeBody decodes ${name} in chunks of ${size} bytes`, async () => {
      equal(await read(decodeBody(cut(code(TEXT), size), [coding], 1e9)), TEXT);
    });
  }

  Deno.test(`decodeBody decodes cut ${name} as far as possible`, async () => {
    const coded = code(TEXT), read = decodeBody(cut(coded.subarray(0, coded.length - 10), 4096), [coding], 1e9);
    const first = await read.next();
    equal(first.done, false);
    equal(TEXT.startsWith(Buffer.from(first.value as Uint8Array).toString()), true);
    for await (const piece of read) equal(TEXT.includes(Buffer.from(piece).toString()), true);
  });

  Deno.test(`decodeBody ends a ${name} bomb at the limit, and its source`, async () => {
    const ended = Promise.withResolvers<void>();
    async function* pieces() {
      try {
        yield* cut(code("\0".repeat(20_000_000)), 16);
      } finally {
        ended.resolve();
      }
    }
    let size = 0;
    await rejects(async () => {
      for await (const piece of decodeBody(pieces(), [coding], 100_000)) size += piece.length;
    }, NotDecoded);
    equal(size <= 100_000, true, `${size}`);
    await ended.promise;
  });

  Deno.test(`decodeBody yields all ${name} data and then reports other bytes`, async () => {
    const all = Buffer.concat([code(TEXT), Buffer.from("other bytes")]), short = code("hello");
    for (const bytes of [cut(all, 1e9), cut(all, 4096), cut(Buffer.concat([short, Buffer.from([1])]), 1e9)]) {
      const told: Uint8Array[] = [];
      await rejects(async () => {
        for await (const piece of decodeBody(bytes, [coding], 1e9)) told.push(piece);
      }, { name: "NotDecoded", message: `Other bytes follow the ${coding} data in the body.` });
      equal([TEXT, "hello"].includes(Buffer.concat(told).toString()), true);
    }
  });

  if (name === "deflate without zlib's head") continue;
  Deno.test(`decodeBody rejects a body that is not ${name}`, async () => {
    for (const times of [1, 10_000]) {
      const other = Buffer.from("no such thing".repeat(times));
      for (const pieces of [cut(other, 100), cut(other, 1e9), [other]]) {
        await rejects(read(decodeBody(pieces, [coding], 1e9)), NotDecoded);
      }
    }
  });
}

Deno.test("decodeBody decodes nested encodings, each with the limit", async () => {
  const twice = zlib.brotliCompressSync(zlib.gzipSync(TEXT));
  equal(await read(decodeBody(cut(twice, 1000), ["gzip", "br"], 1e9)), TEXT);
  const bomb = zlib.gzipSync(zlib.gzipSync(Buffer.alloc(50_000_000), { level: 0 }));
  await rejects(read(decodeBody(cut(bomb, 1000), ["gzip", "gzip"], 1_000_000)), NotDecoded);
});

Deno.test("decodeBody yields nothing for an empty body", async () => {
  equal(await read(decodeBody(cut(new Uint8Array(0), 1), ["br"], 1)), "");
});

Deno.test("decodeBody passes on the error of its source, and ends an unneeded source", async () => {
  const fault = new Error("gone");
  async function* broken() {
    yield await Promise.resolve(zlib.gzipSync(TEXT).subarray(0, 1000));
    throw fault;
  }
  await rejects(read(decodeBody(broken(), ["gzip"], 1e9)), fault);
  const ended = Promise.withResolvers<void>();
  async function* long() {
    try {
      for (;;) yield await Promise.resolve(zlib.gzipSync(TEXT));
    } finally {
      ended.resolve();
    }
  }
  for await (const _ of decodeBody(long(), ["gzip"], 1e9)) break;
  await ended.promise;
});

Deno.test({
  name: "decodeBody rejects a zstd window that is larger than HTTP allows",
  ignore: !HAS_ZSTD,
  async fn() {
    const params = { [zlib.constants.ZSTD_c_windowLog]: 27 };
    const coder = zlib.createZstdCompress({ params });
    coder.write("a");
    coder.end("b");
    const coded = Buffer.concat(await Array.fromAsync(coder));
    equal(zlib.zstdDecompressSync(coded).toString(), "ab");
    await rejects(read(decodeBody(cut(coded, 100), ["zstd"], 1e9)), NotDecoded);
  },
});

Deno.test("parseEncodings reads fields in any form, and returns null for an unknown encoding", () => {
  deepEqual(parseEncodings([]), []);
  deepEqual(parseEncodings(["identity", ""]), []);
  deepEqual(parseEncodings(["X-GZip , br", "Deflate"]), ["gzip", "br", "deflate"]);
  equal(parseEncodings(["gzip, compress"]), null);
  equal(parseEncodings(["gzip, gzip, gzip", "gzip"])?.length, 4);
  equal(parseEncodings(["gzip, gzip, gzip", "gzip, gzip"]), null);
});

Deno.test("decodeBeginning decodes as far as possible and reports whether that was all", async () => {
  const decode = async (bytes: Uint8Array, maxBytes = 1e9) => {
    const plain = await decodeBeginning(bytes, ["gzip"], maxBytes);
    return plain && [Buffer.from(plain.bytes).toString() === TEXT.slice(0, plain.bytes.length), plain.isWhole];
  };
  deepEqual(await decode(zlib.gzipSync(TEXT)), [true, true]);
  deepEqual(await decode(zlib.gzipSync(TEXT), 200_000), [true, false]);
  equal(await decode(Buffer.from("no such thing")), null);
  deepEqual(await decodeBeginning(zlib.gzipSync(""), ["gzip"], 1), { bytes: new Uint8Array(0), isWhole: true });
});
