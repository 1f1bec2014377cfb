import { deepEqual, equal, ok, throws } from "node:assert/strict";
import fc from "fast-check";
import { Buffer } from "node:buffer";
import { FIELD_OVERHEAD, HpackDecoder, HpackError, STATUS_SIZE, writeField, writeStatus } from "./mod.ts";

const toText = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1");

/** Decodes a hexadecimal block and returns one line for each field. */
function decode(decoder: HpackDecoder, hex: string): string[] {
  const bytes = Buffer.from(hex.replaceAll(" ", ""), "hex"), lines: string[] = [];
  decoder.decode(bytes, 0, bytes.length, (name, value) => lines.push(`${toText(name)}: ${toText(value)}`));
  return lines;
}

Deno.test("HpackDecoder reads the requests of RFC 7541, appendix C.4", () => {
  const decoder = new HpackDecoder();
  const request = [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"];
  deepEqual(decode(decoder, "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff"), request);
  deepEqual(decode(decoder, "8286 84be 5886 a8eb 1064 9cbf"), [...request, "cache-control: no-cache"]);
  deepEqual(decode(decoder, "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf"), [
    ":method: GET",
    ":scheme: https",
    ":path: /index.html",
    ":authority: www.example.com",
    "custom-key: custom-value",
  ]);
});

Deno.test("HpackDecoder drops the oldest fields of a small table, as in RFC 7541, appendix C.6", () => {
  const decoder = new HpackDecoder(256);
  const first = "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad " +
    "1718 63c7 8f0b 97c8 e9ae 82ae 43d3";
  const rest = ["cache-control: private", "date: Mon, 21 Oct 2013 20:13:21 GMT", "location: https://www.example.com"];
  deepEqual(decode(decoder, first), [":status: 302", ...rest]);
  deepEqual(decode(decoder, "4883 640e ffc1 c0bf"), [":status: 307", ...rest]);
  const third = "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 " +
    "e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07";
  deepEqual(decode(decoder, third), [
    ":status: 200",
    "cache-control: private",
    "date: Mon, 21 Oct 2013 20:13:22 GMT",
    "location: https://www.example.com",
    "content-encoding: gzip",
    "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
  ]);
  // The table has three fields, and this index refers to a fourth.
  throws(() => decode(decoder, "c1"), HpackError);
});

/** All bytes in order, encoded by another implementation. */
const ALL_BYTES =
  "ffc7fffd8fffffe2fffffe3fffffe4fffffe5fffffe6fffffe7fffffe8ffffeafffffff3fffffa7fffffabffffffdfffffeb" +
  "fffffecfffffedfffffeefffffefffffff0ffffff1ffffff2fffffffbfffffcffffffd3fffffd7fffffdbfffffdffffffe3f" +
  "ffffe7fffffebfffffed4fe3f9ffaffcabf1febfafefe7fdfd2cbb00089969b71d79fb9f7fff20ffbff3ff50ddbd7f061c58" +
  "f265cd9f469d5af66dddbf871e5f9cff7ff7fffc3ff9ffe45fff4719242cb34e6e9d68a6a3d7dac426defe3cfaf7fffbfe7f" +
  "fbffdffffffcfffe6ffff4bfff9ffffa3fffd3ffff53fffd5ffffb3fffeb7fffdaffffb7ffff73fffeeffffdeffffebffffb" +
  "fffffd9ffffdbfffebffffe0ffffeeffffc3ffff8bffff1ffffe4fffee7fffb1ffff97fffd9ffffcdffff9fffffbffffdaff" +
  "feeffff4ffffb7fffee7fffe8ffffd3fffdeffffd5fffeeffffbdffffe1fffdfffff7fffff5ffffecffff07fff87fffe0fff" +
  "f17fffedffff87ffff77fffeffffeaffff8bfffe3ffff93ffff87fffcbffff37ffff1fffff83ffffe1fffebfffe3ffff3fff" +
  "ff2ffffa3ffffd9fffff17ffffc7fffff27ffffdefffffbffffff2fffff8fffffb7fff97fff8fffffe6fffffc1fffff87fff" +
  "fe7fffffc5ffffe5fffe4ffff2fffffd1fffff4ffffffefffffe3fffffc9fffff97fffb3ffffcffffb7fffcdffff4ffff9ff" +
  "ffd1ffffcffffeaffffafffffddffffeffffff4fffff5fffffabffffa7ffffd7fffff9bffffecfffffb7fffff3fffffe8fff" +
  "ffd3fffffabfffff5fffffff7ffffecfffffdbfffffbbfffff7ffffff0fffffbbf";

Deno.test("HpackDecoder knows the Huffman code of every byte", () => {
  const coded = ALL_BYTES.length / 2;
  // A name with one byte, and a length that needs two more bytes than its prefix.
  const length = Buffer.of(0xff, (coded - 127) & 0x7f | 0x80, (coded - 127) >> 7).toString("hex");
  const [line] = decode(new HpackDecoder(), `000161${length}${ALL_BYTES}`);
  equal(line, `a: ${String.fromCharCode(...Array(256).keys())}`);
});

const MALFORMED: readonly (readonly [name: string, hex: string])[] = [
  ["index 0", "80"],
  ["an index without a field", "be"],
  ["an index far beyond", "ffffffff7f"],
  ["an integer without end", "ffffffffffffffffffffff"],
  ["a string that is cut short", "0003612e"],
  ["a field without a value", "000161"],
  ["a table larger than allowed", "3fe21f"],
  ["a table size after a field", "8220"],
  ["a whole byte as padding", "00016181ff"],
  ["zeros as padding", "0001618118"],
  ["an end-of-string code", "00016184ffffffff"],
];

for (const [name, hex] of MALFORMED) {
  Deno.test(`HpackDecoder refuses ${name}`, () => {
    throws(() => decode(new HpackDecoder(), hex), HpackError);
  });
}

Deno.test("HpackDecoder accepts a smaller table, stores no field that is too large, and grows the table again", () => {
  const decoder = new HpackDecoder();
  const field = "40 0161 0162";
  deepEqual(decode(decoder, `${field} be`), ["a: b", "a: b"]);
  throws(() => decode(decoder, "20 be"), HpackError);
  deepEqual(decode(new HpackDecoder(), `21 ${field}`), ["a: b"]);
  throws(() => decode(new HpackDecoder(), `21 ${field} be`), HpackError);
  deepEqual(decode(decoder, `20 3fe11f ${field} be`), ["a: b", "a: b"]);
});

Deno.test("HpackDecoder: any bytes are either decoded or rejected", () => {
  const decoder = new HpackDecoder();
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      let size = 0;
      try {
        decoder.decode(bytes, 0, bytes.length, (name, value) => size += name.length + value.length);
      } catch (error) {
        ok(error instanceof HpackError);
      }
      // One byte may refer to a table field with up to 4096 bytes.
      ok(size <= bytes.length * 4096);
    }),
    { numRuns: 2000 },
  );
});

Deno.test("HpackDecoder: ten thousand replaced fields cost the same time each", () => {
  const decoder = new HpackDecoder();
  const block = Buffer.concat(Array.from({ length: 10_000 }, () => Buffer.of(0x40, 0, 0)));
  let count = 0;
  decoder.decode(block, 0, block.length, () => count++);
  equal(count, 10_000);
});

Deno.test("written fields are decoded again, with names in lower case and trimmed values", () => {
  const token = fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,40}$/);
  const value = fc.stringMatching(/^[\x21-\x7e\x80-\xff]{0,400}$/), space = fc.stringMatching(/^[ \t]{0,3}$/);
  fc.assert(
    fc.property(fc.integer({ min: 100, max: 599 }), token, value, space, (status, name, text, around) => {
      const line = Buffer.from(`${name}:${around}${text}${around}`, "latin1");
      const block = new Uint8Array(STATUS_SIZE + line.length + FIELD_OVERHEAD);
      const end = writeField(block, writeStatus(block, 0, status), line, 0, name.length, name.length + 1, line.length);
      const hex = Buffer.from(block.subarray(0, end)).toString("hex");
      deepEqual(decode(new HpackDecoder(), hex), [`:status: ${status}`, `${name.toLowerCase()}: ${text}`]);
    }),
  );
});
