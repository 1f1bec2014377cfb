import { deepEqual, ok } from "node:assert/strict";
import fc from "fast-check";
import { parseByteRanges, parseContentRange } from "./byte_range.ts";

const RANGES: [string | null, number, ReturnType<typeof parseByteRanges>][] = [
  [null, 10, null],
  ["bytes=0-4", 10, [{ start: 0, end: 4 }]],
  ["bytes=5-", 10, [{ start: 5, end: 9 }]],
  ["bytes=-3", 10, [{ start: 7, end: 9 }]],
  ["bytes=-30", 10, [{ start: 0, end: 9 }]],
  ["bytes=0-99", 10, [{ start: 0, end: 9 }]],
  ["Bytes = 1-1 ", 10, [{ start: 1, end: 1 }]],
  ["bytes=10-", 10, "unsatisfiable"],
  ["bytes=-0", 10, "unsatisfiable"],
  ["bytes=0-", 0, "unsatisfiable"],
  ["bytes=-1", 0, "unsatisfiable"],
  ["bytes=5-4", 10, null],
  ["bytes=0-1,500-501", 1000, [{ start: 0, end: 1 }, { start: 500, end: 501 }]],
  ["bytes=-1, 0-0", 1000, [{ start: 999, end: 999 }, { start: 0, end: 0 }]],
  ["bytes=0-1,3-4", 10, [{ start: 0, end: 4 }]],
  ["bytes=500-700,0-9,600-", 1000, [{ start: 0, end: 9 }, { start: 500, end: 999 }]],
  ["bytes=0-1,2000-", 1000, [{ start: 0, end: 1 }]],
  ["bytes=2000-,3000-", 1000, "unsatisfiable"],
  ["bytes=0-1,", 1000, [{ start: 0, end: 1 }]],
  ["bytes=0-1,x", 1000, null],
  [`bytes=${Array.from({ length: 33 }, (_, at) => `${at * 200}-${at * 200}`)}`, 10_000, null],
  ["bytes=-", 10, null],
  ["bytes=a-b", 10, null],
  ["lines=0-4", 10, null],
  ["bytes=99999999999999999999-", 10, "unsatisfiable"],
];

for (const [field, size, expected] of RANGES) {
  Deno.test(`parseByteRanges: ${field} of ${size} bytes`, () => deepEqual(parseByteRanges(field, size), expected));
}

const someRange = fc.tuple(fc.option(fc.nat(2000)), fc.option(fc.nat(2000))).map(([a, b]) => `${a ?? ""}-${b ?? ""}`);

Deno.test("parseByteRanges never leaves the file and never repeats a byte", () => {
  fc.assert(fc.property(fc.array(someRange, { maxLength: 40 }), fc.nat(2000), (list, size) => {
    const ranges = parseByteRanges(`bytes=${list}`, size);
    if (ranges === null || ranges === "unsatisfiable") return;
    ok(ranges.length > 0 && ranges.length <= 32);
    const sorted = ranges.toSorted((a, b) => a.start - b.start);
    for (const [index, { start, end }] of sorted.entries()) {
      ok(start >= 0 && start <= end && end < size);
      ok(index === 0 || sorted[index - 1].end < start);
    }
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
