import assert from "node:assert/strict";
import { countEdits, findClosest } from "./find_closest.ts";

Deno.test("countEdits counts letters added, dropped, changed and swapped", () => {
  const cases: [string, string, number][] = [
    ["", "", 0],
    ["", "abc", 3],
    ["abc", "abc", 0],
    ["abc", "abd", 1],
    ["abc", "acb", 1],
    ["abc", "ab", 1],
    ["server", "sevrer", 1],
    ["kitten", "sitting", 3],
  ];
  for (const [from, to, edits] of cases) {
    assert.deepEqual([countEdits(from, to), countEdits(to, from)], [edits, edits], `${from} ${to}`);
  }
});

Deno.test("findClosest finds what was meant, and nothing where nothing is near", () => {
  const words = ["server", "server backup", "proxy", "completion"];
  assert.deepEqual(["sever", "porxy", "completoin", "server bakcup", "comp"].map((word) => findClosest(word, words)), [
    "server",
    "proxy",
    "completion",
    "server backup",
    "completion",
  ]);
  const short = ["--cors", "--json", "--port"];
  assert.deepEqual(["--prot", "--prt", "--jsno", "--corss"].map((word) => findClosest(word, short)), [
    "--port",
    "--port",
    "--json",
    "--cors",
  ]);
  assert.equal(findClosest("--port", ["--cors", "--json"]), null);
  assert.deepEqual(["extra", "xyz", "", "x", "-e"].map((word) => findClosest(word, words)), Array(5).fill(null));
});
