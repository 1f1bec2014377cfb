import { equal } from "node:assert/strict";
import type { Entry } from "../parts/api.js";
import { describeList } from "./summary.js";

const [A, B, C] = ["a", "b", "c"].map((name): Entry => ({ name, kind: "file", size: 1000, modified: 0 }));

Deno.test("the line below the list counts what is there, what a filter shows, and what is selected", () => {
  equal(describeList({ entries: [A, B, C], shown: [A, B, C], chosen: [] }), "3 items · 3.0 kB");
  equal(describeList({ entries: [A, B, C], shown: [A, B], chosen: [] }), "2 of 3 items · 2.0 kB");
  equal(describeList({ entries: [A, B, C], shown: [A, B], chosen: [B] }), "1 item selected · 1.0 kB");
  equal(describeList({ entries: [], shown: [], chosen: [] }), "0 items");
});
