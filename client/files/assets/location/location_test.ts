import { deepEqual, equal } from "node:assert/strict";
import type { Entry } from "../parts/api.js";
import { findAbove, findNextFile, readPlace, toAddress } from "./location.js";

Deno.test("an address and the place that it stands for lead to each other", () => {
  for (const address of ["/", "/a%20b/%3F/", "/a/?search=x%20%26%20y", "/?search="]) {
    const { pathname, search } = new URL(address, "http://share/");
    equal(toAddress(readPlace({ pathname, search })), address);
  }
  deepEqual(readPlace({ pathname: "/a%2Fb/", search: "?search=50%25" }), { names: ["a/b"], query: "50%" });
});

Deno.test("above a search is its folder, above a folder the next one, and above the share nothing", () => {
  deepEqual(findAbove({ names: ["a"], query: "x" }), { names: ["a"], query: null });
  deepEqual(findAbove({ names: ["a", "b"], query: null }), { names: ["a"], query: null });
  equal(findAbove({ names: [], query: null }), null);
});

Deno.test("the next file is found past folders, either way, and not beyond an end", () => {
  const entries = (["file", "folder", "file"] as const).map((kind): Entry => ({
    name: kind,
    kind,
    size: 0,
    modified: 0,
  }));
  equal(findNextFile(entries, 0, 1), 2);
  equal(findNextFile(entries, 2, -1), 0);
  equal(findNextFile(entries, 2, 1), -1);
  equal(findNextFile(entries, -1, 1), -1);
});
