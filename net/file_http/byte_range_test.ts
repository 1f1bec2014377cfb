import { deepEqual, ok } from "node:assert/strict";
import fc from "fast-check";
import { parseByteRange, parseContentRange } from "./byte_range.ts";

const RANGES: [string | null, number, ReturnType<typeof parseByteRange>][] = [
  [null, 10, null],
  ["bytes=0-4", 10, { start: 0, end: 4 }],
  ["bytes=5-", 10, { start: 5, end: 9 }],
  ["bytes=-3", 10, { start: 7, end: 9 }],
  ["bytes=-30", 10, { start: 0, end: 9 }],
  ["bytes=0-99", 10, { start: 0, end: 9 }],
  ["Bytes = 1-1 ", 10, { start: 1, end: 1 }],
  ["bytes=10-", 10, "unsatisfiable"],
  ["bytes=-0", 10, "unsatisfiable"],
  ["bytes=0-", 0, "unsatisfiable"],
  ["bytes=-1", 0, "unsatisfiable"],
  ["bytes=5-4", 10, null],
  ["bytes=0-1,3-4", 10, null],
  ["bytes=-", 10, null],
  ["bytes=a-b", 10, null],
  ["lines=0-4", 10, null],
  ["bytes=99999999999999999999-", 10, "unsatisfiable"],
];

for (const [field, size, expected] of RANGES) {
  Deno.test(`parseByteRange: ${field} of ${size} bytes`, () => deepEqual(parseByteRange(field, size), expected));
}

Deno.test("parseByteRange never leaves the file", () => {
  fc.assert(fc.property(fc.option(fc.maxSafeNat()), fc.option(fc.maxSafeNat()), fc.nat(1000), (first, last, size) => {
    const range = parseByteRange(`bytes=${first ?? ""}-${last ?? ""}`, size);
    if (range === null || range === "unsatisfiable") return;
    ok(range.start >= 0 && range.start <= range.end && range.end < size);
  }));
});

Deno.test("parseContentRange takes a range with its total and refuses what contradicts itself", () => {
  deepEqual(parseContentRange("bytes 0-3/10"), { start: 0, end: 3, total: 10 });
  for (
    const bad of [
      "bytes 0-10/10",
      "bytes 4-3/10",
      "bytes 0-3/*",
      "bytes */10",
      "bytes -1-3/10",
      "bytes 0--3/10",
      "0-3/10",
      "bytes 0-3",
      "bytes 0-9999999999999999/99999999999999999",
      "bytes 1e1-20/30",
      "bytes 0x1-0x2/9",
    ]
  ) deepEqual(parseContentRange(bad), null, bad);
});
