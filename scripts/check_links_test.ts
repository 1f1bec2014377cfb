import { deepEqual } from "node:assert/strict";
import { findDeadLinks } from "./check_links.ts";

const check = (text: string) =>
  findDeadLinks(
    new Map([["docs/a.md", text], ["docs/b/c.md", "# A heading: `code` & more\n\n## Two {#second}\n"]]),
    (path) => path === "mod.ts",
  );

Deno.test("findDeadLinks accepts files, headings, explicit anchors and other addresses", () => {
  deepEqual(
    check(
      "# Own\n[a](b/c.md) [b](b/c.md#a-heading-code--more) [c](b/c.md#second) [d](../mod.ts) [e](#own) [f](https://x.example)",
    ),
    [],
  );
});

Deno.test("findDeadLinks reports missing files and headings", () => {
  deepEqual(check("[a](gone.md) [b](b/c.md#gone)"), [
    'docs/a.md: dead link "gone.md"',
    'docs/a.md: "b/c.md#gone": no such heading',
  ]);
});

Deno.test("findDeadLinks leaves code alone", () => {
  deepEqual(check("`[a](gone.md)`\n\n```\n[a](gone.md)\n```\n"), []);
});
