import { deepEqual, equal } from "node:assert/strict";
import { formatName, formatNames, formatSize, formatSpan, nextName, splitName } from "./format.js";

Deno.test("formatBytes takes the unit in which a number is short", () => {
  deepEqual([0, 999, 1000, 99_949, 99_950, 999_499, 999_500, 1.5e15].map(formatSize), [
    "0 B",
    "999 B",
    "1.0 kB",
    "99.9 kB",
    "100 kB",
    "999 kB",
    "1.0 MB",
    "1.5 PB",
  ]);
});

Deno.test("formatSpan says nothing of what never ends", () => {
  deepEqual([0.2, 61, 3700, Infinity].map(formatSpan), ["1 s", "1 min 1 s", "1 h 1 min", ""]);
});

Deno.test("formatName shows what would break a line or turn the direction of writing as a mark", () => {
  equal(formatName("a\u202egpj.exe\n"), "a\ufffdgpj.exe\ufffd");
});

Deno.test("formatNames names the first three of many", () => {
  equal(formatNames(["a"]), "“a”");
  equal(formatNames(["a", "b", "c", "d", "e"]), "“a”, “b”, “c” and 2 more");
});

Deno.test("splitName keeps the end of a long name together, and no letter of two halves apart", () => {
  deepEqual(splitName("short.txt"), ["short.txt", ""]);
  deepEqual(splitName("a report of the whole year (final).pdf"), ["a report of the whole year (", "final).pdf"]);
  deepEqual(splitName("x".repeat(30) + "😀".repeat(10))[1], "😀".repeat(10));
});

Deno.test("nextName counts before the ending, and from a count that is there", () => {
  deepEqual(["a.txt", "a (2).txt", "a (9)", ".env", "a.tar.gz"].map(nextName), [
    "a (2).txt",
    "a (3).txt",
    "a (10)",
    ".env (2)",
    "a.tar (2).gz",
  ]);
});
