import { equal } from "node:assert/strict";
import { toSlug } from "./markdown_marks.js";

Deno.test("toSlug names a heading as forges do, letters of any writing kept", () => {
  equal(toSlug("  What's new? (v2.0) "), "whats-new-v20");
  equal(toSlug("Über uns_und mehr"), "über-uns_und-mehr");
  equal(toSlug("a  b"), "a--b");
});
