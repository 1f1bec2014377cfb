import { equal, rejects } from "node:assert/strict";
import { Buffer } from "node:buffer";
import zlib from "node:zlib";
import type { ContentEncoding } from "../../../net/body/content_encoding.ts";
import { recode } from "./recode.ts";

const ENCODINGS: readonly (readonly [ContentEncoding, (text: string) => Buffer, (bytes: Buffer) => Buffer])[] = [
  ["gzip", zlib.gzipSync, zlib.gunzipSync],
  ["deflate", zlib.deflateSync, zlib.inflateSync],
  ["br", zlib.brotliCompressSync, zlib.brotliDecompressSync],
  ...(typeof zlib.zstdCompressSync === "function"
    ? [["zstd", zlib.zstdCompressSync, zlib.zstdDecompressSync] as const]
    : []),
];
const TEXT = Array.from({ length: 20_000 }, (_, at) => `${(at * 7919) % 10_007}\n`).join("");

async function* cut(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size));
}

/** Rewrites a body without changing its text. Returns the encoded result and whether the body was reported as broken. */
async function run(coding: ContentEncoding, bytes: Uint8Array, size: number) {
  const out: Uint8Array[] = [];
  let isBroken = false;
  const rewriter = { push: (bytes: Uint8Array) => bytes.slice(), end: () => new Uint8Array(0) };
  await recode(cut(bytes, size), { coding, rewriter, onBroken: () => isBroken = true }, (bytes) => {
    out.push(Uint8Array.from(bytes));
    return Promise.resolve();
  });
  return { bytes: Buffer.concat(out), isBroken };
}

for (const [coding, encode, decode] of ENCODINGS) {
  for (const size of [7, 4096, 1e9]) {
    Deno.test(`recode ignores bytes after the end of ${coding}, in chunks of ${size}`, async () => {
      for (const rest of ["", "\0\0\0\0", "other bytes", "x".repeat(200_000)]) {
        const { bytes, isBroken } = await run(coding, Buffer.concat([encode(TEXT), Buffer.from(rest)]), size);
        equal(decode(bytes).toString(), TEXT);
        equal(isBroken, false);
      }
    });
  }

  Deno.test(`recode reports a body that is not ${coding}`, async () => {
    await rejects(run(coding, Buffer.from("no such encoding".repeat(100)), 100));
  });
}
