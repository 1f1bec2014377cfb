import { equal } from "node:assert/strict";
import { formatBytes, formatDuration, printable } from "./format.ts";

Deno.test("formatDuration keeps two or three digits that mean something", () => {
  const table: [number, string][] = [
    [0, "0.0ms"],
    [0.849, "0.8ms"],
    [0.96, "1.0ms"],
    [9.94, "9.9ms"],
    [9.96, "10ms"],
    [999.4, "999ms"],
    [999.6, "1.0s"],
    [59_940, "59.9s"],
    [59_960, "1m 0s"],
    [125_000, "2m 5s"],
  ];
  for (const [ms, text] of table) equal(formatDuration(ms), text);
});

Deno.test("formatBytes uses decimal units and three digits", () => {
  const table: [number, string][] = [[0, "0 B"], [999, "999 B"], [1000, "1.00 kB"], [1e9, "1.00 GB"], [
    12_345_678,
    "12.3 MB",
  ]];
  for (const [bytes, text] of table) equal(formatBytes(bytes), text);
});

Deno.test("printable leaves text alone and takes what steers a terminal out of it", () => {
  equal(printable("caf\u00e9 \u{1f600} [ok]"), "caf\u00e9 \u{1f600} [ok]");
  equal(printable("a\x1b[2Jb\r\nc\x9b31md\u202e"), "a?[2Jb??c?31md?");
});
