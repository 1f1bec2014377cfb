import { equal } from "node:assert/strict";
import { computeConnectionLimit, readConnectionLimit } from "./listen.ts";

const limits = (soft: string) =>
  `Limit                     Soft Limit           Hard Limit           Units     \n` +
  `Max processes             127000               127000               processes \n` +
  `Max open files            ${soft.padEnd(20)} 1048576              files     \n`;

Deno.test("computeConnectionLimit leaves descriptors to the rest of the program, as the system has them", () => {
  const cases: readonly [platform: string, limits: string | null, expected: number][] = [
    ["linux", limits("1048576"), 1_047_936],
    ["linux", limits("1024"), 384],
    ["linux", limits("256"), 64],
    ["linux", limits("unlimited"), 100_000],
    ["linux", null, 100_000],
    ["darwin", null, 9600],
    ["win32", null, 100_000],
  ];
  for (const [platform, text, expected] of cases) equal(computeConnectionLimit(text, platform), expected);
});

Deno.test("readConnectionLimit gives a number on any system", () => {
  equal(Number.isInteger(readConnectionLimit()) && readConnectionLimit() > 0, true);
});
