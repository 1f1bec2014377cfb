import { equal } from "node:assert/strict";
import { Buffer } from "node:buffer";
import zlib from "node:zlib";
import fc from "fast-check";
import { ByteSource } from "./gunzip.ts";
import { HAS_ZSTD, readZstdFrames } from "./zstd.ts";

const { ZSTD_c_checksumFlag, ZSTD_c_contentSizeFlag } = zlib.constants;
const text = fc.oneof(fc.string({ maxLength: 2000 }), fc.nat(300_000).map((size) => "a".repeat(size)));
const frame = fc.oneof(
  fc.tuple(text, fc.boolean(), fc.boolean()).map(([text, hasSum, hasSize]) =>
    zlib.zstdCompressSync(text, {
      params: { [ZSTD_c_checksumFlag]: Number(hasSum), [ZSTD_c_contentSizeFlag]: Number(hasSize) },
    })
  ),
  fc.constant(Buffer.from([0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3])),
);

Deno.test({
  name: "readZstdFrames yields all frames and leaves other bytes, however both are cut",
  ignore: !HAS_ZSTD,
  async fn() {
    const rest = fc.constantFrom("", "x", "\x28\xb5", "other bytes");
    await fc.assert(
      fc.asyncProperty(
        fc.array(frame, { minLength: 1, maxLength: 3 }),
        rest,
        fc.integer({ min: 1, max: 5000 }),
        async (frames, rest, size) => {
          const whole = Buffer.concat(frames), bytes = Buffer.concat([whole, Buffer.from(rest, "latin1")]);
          const chunks: Uint8Array[] = [];
          for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
          const source = new ByteSource(chunks);
          const read = Buffer.concat(await Array.fromAsync(readZstdFrames(source)));
          equal(read.equals(whole), true);
          equal(Buffer.from(await source.take(1000)).toString("latin1"), rest);
        },
      ),
      { numRuns: 200 },
    );
  },
});
