import { deepEqual, equal, ok, throws } from "node:assert/strict";
import path from "node:path";
import fc from "fast-check";
import { isPlainName } from "../../../common/platform/mod.ts";
import { parseSharePath, serializePath } from "./share_path.ts";

Deno.test("parseSharePath decodes each name once and keeps the query apart", () => {
  const { segments, isFolder, query } = parseSharePath("/a%20b/%252e%252e/%E2%82%AC.txt?x=1&y=%2F");
  deepEqual(segments, ["a b", "%2e%2e", "€.txt"]);
  equal(isFolder, false);
  equal(query.get("y"), "/");
  deepEqual(parseSharePath("/"), { segments: [], isFolder: true, query: new URLSearchParams(), search: "" });
  equal(parseSharePath("/a/").isFolder, true);
});

/** From the ways in which other file servers were left. */
const HOSTILE = [
  "/..",
  "/../x",
  "/a/../x",
  "/a/..",
  "/./x",
  "/%2e%2e/x",
  "/%2E%2e/x",
  "/.%2e/x",
  "/%2e./x",
  "/%2e/x",
  "/..%2fx",
  "/..%2Fx",
  "/a%2fb",
  "/..%5cx",
  "/..%5Cx",
  "/..\\x",
  "/a\\b",
  "/%00",
  "/a%00.txt",
  "/%c0%ae%c0%ae/x",
  "/%c0%af",
  "/%e0%80%af",
  "/%f0%80%80%af",
  "/%",
  "/%2",
  "/%zz",
  "/%u002e",
  "//",
  "//x",
  "/a//b",
  "/a\tb",
  "/a\0b",
  "x",
  "",
  "/a b",
  "/a#b",
  "http://other/x",
  "/%ff",
  "/%ed%a0%80",
];

for (const target of HOSTILE) {
  Deno.test(`parseSharePath refuses ${JSON.stringify(target)}`, () => {
    throws(() => parseSharePath(target), { name: "HttpError", status: 400, code: "bad_path" });
  });
}

for (
  const name of [
    "C:",
    "c:x",
    "a:b",
    "a::$DATA",
    "con",
    "NUL.txt",
    "aux",
    "COM1",
    "lpt9.log",
    "a.",
    "a ",
    "a?",
    "a*",
    "a\x01",
  ]
) {
  Deno.test(`parseSharePath refuses the name "${name}" on Windows only`, () => {
    const target = serializePath([name], false);
    throws(() => parseSharePath(target, { platform: "win32" }), { code: "bad_path" });
    deepEqual(parseSharePath(target, { platform: "linux" }).segments, [name]);
  });
}

Deno.test("parseSharePath refuses what is too long or too deep", () => {
  throws(() => parseSharePath("/" + "a".repeat(20_000)), { status: 414 });
  throws(() => parseSharePath("/" + "a".repeat(256)), { code: "bad_path" });
  throws(() => parseSharePath("/a".repeat(300)), { code: "bad_path" });
  throws(() => parseSharePath("/" + encodeURIComponent("€".repeat(86))), { code: "bad_path" });
});

Deno.test("parseSharePath never lets a path out of a folder, whatever it is made of", () => {
  const pieces = [
    "/",
    "..",
    ".",
    "%2e",
    "%2E",
    "%2f",
    "%5c",
    "\\",
    "%00",
    "%25",
    "2e",
    "a",
    "%c0%ae",
    ":",
    "//",
    "%",
    " ",
    "?",
    "€",
    "~",
    "%ff",
  ];
  const target = fc.oneof(
    fc.string({ maxLength: 60 }).map((text) => "/" + text),
    fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => "/" + parts.join("")),
    fc.array(fc.nat(255), { maxLength: 12 })
      .map((bytes) => "/" + bytes.map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("")),
  );
  fc.assert(
    fc.property(target, fc.boolean(), (text, windows) => {
      const segments = parseOrNull(text, windows);
      if (segments === null) return;
      for (const flavour of [path.posix, path.win32]) {
        const root = flavour === path.win32 ? "C:\\share" : "/share";
        if (flavour === path.win32 && !windows) continue;
        const full = flavour.resolve(root, ...segments);
        ok(full === root || full.startsWith(root + flavour.sep), full);
        equal(flavour.relative(root, full).split(flavour.sep).length, Math.max(1, segments.length));
      }
    }),
    { numRuns: 3000 },
  );
});

function parseOrNull(target: string, windows: boolean): readonly string[] | null {
  try {
    return parseSharePath(target, { platform: windows ? "win32" : "linux" }).segments;
  } catch (error) {
    ok(error instanceof Error && error.name === "HttpError", String(error));
    return null;
  }
}

Deno.test("serializePath is undone by parseSharePath for every plain name", () => {
  const name = fc.string({ minLength: 1, maxLength: 40, unit: "binary" }).filter((text) => isPlainName(text, "linux"));
  fc.assert(
    fc.property(fc.array(name, { minLength: 1, maxLength: 5 }), fc.boolean(), (segments, isFolder) => {
      const parsed = parseSharePath(serializePath(segments, isFolder), { platform: "linux" });
      deepEqual([parsed.segments, parsed.isFolder], [segments, isFolder]);
    }),
  );
});
