import { equal } from "node:assert/strict";
import { findItem } from "./menus.js";

const LABELS = ["Open", "Download", "Rename", "Delete"];

Deno.test("findItem goes round with the arrows, to the ends, and by letters to the next that begins so", () => {
  equal(findItem("ArrowDown", 3, LABELS), 0);
  equal(findItem("ArrowUp", 0, LABELS), 3);
  equal(findItem("End", 0, LABELS), 3);
  equal(findItem("d", 0, LABELS), 1);
  equal(findItem("d", 1, LABELS), 3);
  equal(findItem("D", 3, LABELS), 1);
  equal(findItem("n", 2, LABELS), 2);
  equal(findItem("F5", 2, LABELS), 2);
});
