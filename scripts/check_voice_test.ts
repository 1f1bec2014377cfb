import { deepEqual, equal, match } from "node:assert/strict";
import { extractLines, extractSentences } from "./_prose.ts";
import { findVoiceViolations } from "./check_voice.ts";

const textsOf = (file: string, text: string) => extractSentences(file, text).map((sentence) => sentence.text);

Deno.test("extractSentences finds comments, docstrings and error messages, and no code", () => {
  const source = [
    "/** Returns the parsed value. Throws on bad input. */",
    "export function parse(text: string) {",
    "  // The caller trims the text.",
    "  // It is never empty.",
    '  const url = "http://example.com/ // no comment here";',
    "  const pattern = /no \\/\\/ comment either/;",
    '  throw new TypeError(`cannot parse "${text}": the value is empty`);',
    "}",
  ].join("\n");
  deepEqual(textsOf("a.ts", source), [
    "Returns the parsed value.",
    "Throws on bad input.",
    "The caller trims the text.",
    "It is never empty.",
    'cannot parse "CODE": the value is empty',
  ]);
});

Deno.test("extractSentences leaves out headings, tables and code blocks in Markdown", () => {
  const text = "# A long title with words\n\nThe relay keeps `a.b` open.\n\n| a table | with words here |\n\n" +
    "```sh\nthis is a command line\n```\n\n- The list item is prose.\n";
  deepEqual(textsOf("a.md", text), ["The relay keeps CODE open.", "The list item is prose."]);
});

Deno.test("extractSentences gives each sentence its line", () => {
  deepEqual(extractSentences("a.md", "One two three.\n\nFour five six.\n").map(({ line }) => line), [1, 3]);
});

const broken: [rule: string, text: string][] = [
  ["longSentences", `The relay ${"never ".repeat(31)}waits.`],
  ["pronounClauses", "The relay keeps what comes first."],
  ["what", "The relay knows what kind arrives."],
  ["indefinites", "The relay keeps nothing else open."],
  ["pronounStarts", "It keeps the connection open."],
  ["of", "The end of the head of the request arrives."],
  ["privateWords", "The relay answers each request."],
];

for (const [rule, text] of broken) {
  Deno.test(`findVoiceViolations reports ${rule}`, () => {
    const [first] = findVoiceViolations("a", extractLines("a", [text])).filter((line) => line.includes(rule));
    match(first, new RegExp(`^a: ${rule} is [0-9.]+, the limit is `));
  });
}

Deno.test("findVoiceViolations accepts plain sentences", () => {
  const lines = [
    "The relay closes the connection after 30 seconds.",
    "Returns the number of open streams, at most 128.",
  ];
  equal(findVoiceViolations("a", extractLines("a", lines)).length, 1);
  deepEqual(findVoiceViolations("a", extractLines("a", lines.slice(0, 1))), []);
});
