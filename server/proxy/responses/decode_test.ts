import { equal, rejects } from "node:assert/strict";
import { Buffer } from "node:buffer";
import * as zlib from "node:zlib";
import fc from "fast-check";
import { readDecoded } from "./decode.ts";
import type { ResponseBody } from "../../../net/upstream/mod.ts";
import type { HopResponse } from "../perform/upstream.ts";

const LIMIT = 1_000_000;
const TEXT = "0123456789".repeat(30_000);

Deno.test("readBody passes over what follows a whole gzip member and is none, as browsers do", async () => {
  const large = zlib.gzipSync(TEXT, { level: 1 });
  for (const rest of ["", "x", "\n\n", "\0".repeat(5), "\x1f", "\x1f\x8b", "garbage".repeat(50_000)]) {
    equal(await read(Buffer.concat([large, Buffer.from(rest, "latin1")])), TEXT, JSON.stringify(rest.slice(0, 9)));
  }
  // Extra field, name, comment and checksum of the header.
  const header = Buffer.from("1f8b081e000000000003" + "0300" + "616263" + "6e00" + "6300" + "0000", "hex");
  const bare = Buffer.concat([header, zlib.deflateRawSync("hello"), zlib.gzipSync("hello").subarray(-8)]);
  const withCheck = Buffer.from(bare);
  withCheck.writeUInt16LE(zlib.crc32(header.subarray(0, -2)) & 0xffff, header.length - 2);
  equal(await read(Buffer.concat([withCheck, Buffer.from("rest")])), "hello");
});

Deno.test("readBody joins gzip members", async () => {
  equal(await read(Buffer.concat([zlib.gzipSync("one "), zlib.gzipSync("two")])), "one two");
});

Deno.test("readBody refuses a gzip member that is cut short or not what its checksum says", async () => {
  const whole = zlib.gzipSync(TEXT);
  const wrong = Buffer.concat([whole, Buffer.from("rest")]);
  wrong[whole.length - 8] ^= 1;
  for (
    const bytes of [whole.subarray(0, -1), whole.subarray(0, -8), whole.subarray(0, 50), whole.subarray(0, 5), wrong]
  ) {
    await rejects(read(bytes), { code: "upstream_bad_encoding", status: 502 });
  }
  await rejects(read(Buffer.from("no gzip at all")), { code: "upstream_bad_encoding" });
});

Deno.test("readBody holds a member with something behind it to the limit", async () => {
  const bomb = Buffer.concat([zlib.gzipSync(Buffer.alloc(LIMIT + 1)), Buffer.from("rest")]);
  await rejects(read(bomb), { code: "answer_too_large", status: 413 });
});

Deno.test("readBody meets random bytes behind a gzip header with an answer or its own error", async () => {
  await fc.assert(fc.asyncProperty(fc.uint8Array({ maxLength: 60 }), fc.boolean(), async (bytes, isDeflated) => {
    const rest = isDeflated ? zlib.deflateRawSync("hello") : new Uint8Array();
    const wire = Buffer.concat([Buffer.from([0x1f, 0x8b, 8]), bytes, rest]);
    await read(wire).catch((error) => equal(error.code, "upstream_bad_encoding"));
  }));
});

async function read(wire: Uint8Array, encoding = "gzip"): Promise<string> {
  let left: Uint8Array[] | null = [wire];
  const body = { take: () => Promise.resolve(left).finally(() => left = null), cancel() {} };
  const headers: [string, string][] = [["Content-Encoding", encoding]];
  // The two methods are all that is read of a body here.
  const response = { headers, hasBody: true, body: body as unknown as ResponseBody } as HopResponse;
  return Buffer.from((await readDecoded(response, LIMIT)).bytes).toString();
}

Deno.test({
  name: "readBody keeps no window of zstd that is larger than HTTP allows",
  ignore: zlib.createZstdCompress === undefined,
  async fn() {
    const coder = zlib.createZstdCompress({ params: { [zlib.constants.ZSTD_c_windowLog]: 27 } });
    coder.write("a");
    coder.end("b");
    const coded = Buffer.concat(await Array.fromAsync(coder));
    await rejects(read(coded, "zstd"), { status: 502, code: "upstream_bad_encoding" });
    equal(await read(zlib.zstdCompressSync(TEXT), "zstd"), TEXT);
  },
});
