import { deepEqual } from "node:assert/strict";
import { findIndex } from "./list_keys.js";

Deno.test("findIndex stays in the list, and in tiles in the column", () => {
  const lines = { current: 3, count: 10, columns: 1, page: 5 };
  deepEqual((["next", "previous", "pageDown", "pageUp", "first", "last"] as const).map((to) => findIndex(to, lines)), [
    4,
    2,
    8,
    0,
    0,
    9,
  ]);
  const tiles = { current: 8, count: 10, columns: 4, page: 8 };
  deepEqual((["next", "previous", "left", "right", "pageDown"] as const).map((to) => findIndex(to, tiles)), [
    8,
    4,
    7,
    9,
    9,
  ]);
  deepEqual([findIndex("next", { ...lines, current: -1 }), findIndex("next", { ...lines, current: -1, count: 0 })], [
    0,
    -1,
  ]);
});
