import { equal, rejects } from "node:assert/strict";
import { Buffer } from "node:buffer";
import zlib from "node:zlib";
import fc from "fast-check";
import { ByteSource, gunzip } from "./gunzip.ts";

const CHUNK = 1000;

/** Creates a member with any optional header parts (RFC 1952, section 2.3). */
function code(text: string, { extra, name, comment, hasCrc }: Header): Buffer {
  const plain = zlib.gzipSync(text);
  const flags = (hasCrc ? 2 : 0) | (extra === null ? 0 : 4) | (name === null ? 0 : 8) | (comment === null ? 0 : 16);
  const parts = [plain.subarray(0, 3), Buffer.from([flags]), plain.subarray(4, 10)];
  if (extra !== null) parts.push(Buffer.from([extra & 0xff, extra >> 8]), Buffer.alloc(extra, 7));
  for (const word of [name, comment]) if (word !== null) parts.push(Buffer.from(`${word}\0`));
  const head = Buffer.concat(parts), sum = Buffer.alloc(2);
  sum.writeUInt16LE(zlib.crc32(head) & 0xffff);
  return Buffer.concat([head, ...(hasCrc ? [sum] : []), plain.subarray(10)]);
}

interface Header {
  extra: number | null;
  name: string | null;
  comment: string | null;
  hasCrc: boolean;
}

function* cut(bytes: Uint8Array, size: number): Generator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Decodes bytes. Returns the text and the rest of the source. */
async function undo(bytes: Uint8Array, size: number): Promise<{ text: string; left: string }> {
  const source = new ByteSource(cut(bytes, size));
  const told = await Array.fromAsync(gunzip(source, CHUNK));
  return { text: Buffer.concat(told).toString(), left: Buffer.from(await source.take(1e9)).toString("latin1") };
}

const word = fc.option(fc.string({ unit: "grapheme-ascii", maxLength: 20 }));
const header = fc.record({ extra: fc.option(fc.nat(300)), name: word, comment: word, hasCrc: fc.boolean() });
const text = fc.string({ maxLength: 3000 });
const size = fc.integer({ min: 1, max: 2000 });

Deno.test("gunzip decodes a member with any header and leaves other bytes, however all is cut", async () => {
  const rest = fc.constantFrom("", "x", "\x1f", "\x1f\x8b", "\x1f\x8b\x07", "other bytes");
  await fc.assert(
    fc.asyncProperty(text, header, fc.nat(20), rest, size, async (text, header, zeros, rest, size) => {
      const bytes = Buffer.concat([code(text, header), Buffer.alloc(zeros), Buffer.from(rest, "latin1")]);
      const undone = await undo(bytes, size);
      equal(undone.text, text);
      equal(undone.left, rest);
    }),
    { numRuns: 200 },
  );
});

Deno.test("gunzip decodes consecutive members", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(text, header), { minLength: 1, maxLength: 4 }), size, async (members, size) => {
      const { text, left } = await undo(Buffer.concat(members.map(([text, header]) => code(text, header))), size);
      equal(text, members.map(([text]) => text).join(""));
      equal(left, "");
    }),
    { numRuns: 50 },
  );
});

Deno.test("gunzip decodes a member that is cut anywhere as far as possible", async () => {
  const whole = "a text of some words, and of some more words",
    header = { extra: 3, name: "n", comment: "c", hasCrc: true };
  const bytes = code(whole, header);
  for (let length = 0; length <= bytes.length; length++) {
    const { text, left } = await undo(bytes.subarray(0, length), 5);
    equal(whole.startsWith(text), true);
    equal(left, "");
  }
});

Deno.test("gunzip rejects another format, a wrong checksum and a wrong length", async () => {
  await rejects(undo(Buffer.from("no such thing"), 100), /not gzip/);
  const bytes = zlib.gzipSync("text");
  for (const at of [8, 4]) {
    const wrong = Buffer.from(bytes);
    wrong[wrong.length - at] ^= 1;
    await rejects(undo(wrong, 100), /checksum/);
  }
});

Deno.test("gunzip keeps many chunks after the end of a member", async () => {
  const member = zlib.gzipSync("x"), count = 100_000;
  const { text, left } = await undo(Buffer.concat(Array.from({ length: count }, () => member)), 64 * 1024);
  equal(text, "x".repeat(count));
  equal(left, "");
  const rest = "other bytes".repeat(count), undone = await undo(Buffer.concat([member, Buffer.from(rest)]), 100);
  equal(undone.text, "x");
  equal(undone.left, rest);
});
