import { deepEqual, equal, ok, throws } from "node:assert/strict";
import fc from "fast-check";
import { HttpError } from "../../../common/http_error.ts";
import { holds, parseIfHeader } from "./if_header.ts";

/** A file `a.txt` with a tag, locked with the token `urn:1`. */
const lookUp = (segments: readonly string[]) =>
  segments.join("/") === "a.txt"
    ? { tokens: new Set(["urn:1"]), tag: '"t"' }
    : { tokens: new Set<string>(), tag: null };

const CASES: [field: string, isTrue: boolean][] = [
  ["(<urn:1>)", true],
  ["(<urn:2>)", false],
  ["(Not <urn:2>)", true],
  ["(not <urn:1>)", false],
  ['(<urn:1> ["t"])', true],
  ['(<urn:1> ["other"])', false],
  ['(<urn:1> Not ["other"])', true],
  ['([W/"t"])', false],
  ["(<urn:2>) (<urn:1>)", true],
  ["(<urn:2>)(Not <DAV:no-lock>)", true],
  ["</a.txt> (<urn:1>)", true],
  ["<http://share.test/a.txt> (<urn:1>)", true],
  ["</b.txt> (<urn:1>)", false],
  ["</b.txt> (<urn:1>) </a.txt> (<urn:1>)", true],
  ["</../x> (Not <urn:1>)", true],
];

for (const [field, isTrue] of CASES) {
  Deno.test(`If: ${field} ${isTrue ? "holds" : "does not hold"} for a locked file`, () => {
    const parsed = parseIfHeader(field);
    ok(parsed !== null);
    equal(holds(parsed, ["a.txt"], lookUp), isTrue);
  });
}

Deno.test("parseIfHeader counts every token as sent, those that are negated too", () => {
  deepEqual([...parseIfHeader("(Not <urn:1>) (<urn:2>)")?.tokens ?? []], ["urn:1", "urn:2"]);
  equal(parseIfHeader(null), null);
});

Deno.test("parseIfHeader refuses what is malformed, and any text and long ones quickly", () => {
  for (
    const field of ["", "()", "(<urn:1>", "<urn:1>", "(urn:1)", "</a>", "(<a>) x", '(["t)', "(<urn:1>)".repeat(1000)]
  ) {
    throws(() => parseIfHeader(field), { status: 400 }, field);
  }
  const word = fc.constantFrom("(", ")", "<", ">", "[", "]", '"', "Not", " ", "urn:1", "W/", "/a");
  fc.assert(fc.property(fc.array(word, { maxLength: 60 }), (words) => {
    try {
      parseIfHeader(words.join(""));
    } catch (error) {
      ok(error instanceof HttpError && error.status === 400);
    }
  }));
});
