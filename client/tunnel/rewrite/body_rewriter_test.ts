import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { createTestRewriter } from "./_rewrite_text.ts";
import { BodyRewriter } from "./body_rewriter.ts";
import { findCountedTexts } from "./flight.ts";

const LOCAL = "http://localhost:3000", PUBLIC = "https://app-x1.t.example";

function rewrite(contentType: string, pieces: readonly Uint8Array[]): string {
  const rewriter = new BodyRewriter(createTestRewriter(), findCountedTexts(contentType));
  return Buffer.concat([...pieces.map((piece) => rewriter.push(piece)), rewriter.end()]).toString();
}

/** A text with links, marks that JSON escapes, and characters of two, three and four bytes. */
const TEXT = `"quoted" \\ back ${LOCAL}/a\n<p>é €</p> \u{1f600} ${LOCAL}`;
const counted = (id: string, text: string) => `${id}:T${Buffer.byteLength(text).toString(16)},${text}`;
const FLIGHT = [
  `:HL["${LOCAL}/a.css","style"]\n`,
  `1:I["${LOCAL}/_next/chunk.js",["x"],"default"]\n`,
  counted("2", TEXT),
  `3:["$","a",null,{"href":"${LOCAL}/b","text":"$2"}]\n`,
  counted("a4", TEXT),
  counted("b5", ""),
  `0:{"url":"${LOCAL}"}\n`,
];
const expectedFlight = FLIGHT.map((row) => /^\w+:T/.test(row) ? row : row.replaceAll(LOCAL, PUBLIC)).join("");

/** As Next has it: strings in scripts, escaped for HTML, which end wherever a piece of the stream did. */
function createPage(rows: readonly string[]): string {
  const push = (text: string) => {
    const json = JSON.stringify(text).replaceAll("<", "\\u003c").replaceAll(">", "\\u003e").replaceAll("&", "\\u0026");
    return `<script>self.__next_f.push([1,${json}])</script>`;
  };
  // What is counted may be split from its head, as Next does.
  const parts = rows.flatMap((row) =>
    /^\w+:T/.test(row) ? [row.slice(0, row.indexOf(",") + 1), row.slice(row.indexOf(",") + 1)] : [row]
  );
  return `<p>${LOCAL}/p</p><script>(self.__next_f=self.__next_f||[]).push([0])</script>${
    parts.map(push).join("")
  }<i>${LOCAL}</i>`;
}

const cases: [type: string, body: string, expected: string][] = [
  ["text/x-component", FLIGHT.join(""), expectedFlight],
  [
    "text/html; charset=utf-8",
    createPage(FLIGHT),
    createPage(FLIGHT.map((row) => /^\w+:T/.test(row) ? row : row.replaceAll(LOCAL, PUBLIC)))
      .replace(`${LOCAL}/p`, `${PUBLIC}/p`).replace(`<i>${LOCAL}`, `<i>${PUBLIC}`),
  ],
];

for (const [type, body, expected] of cases) {
  Deno.test(`rewriting: counted texts in ${type} keep their bytes, and links around them become public`, () => {
    assert.equal(rewrite(type, [Buffer.from(body)]), expected);
  });

  Deno.test(`rewriting: ${type} gives the same wherever it is cut`, () => {
    const bytes = Buffer.from(body);
    assert.equal(rewrite(type, [...bytes].map((byte) => Uint8Array.of(byte))), expected);
    fc.assert(fc.property(fc.array(fc.nat(bytes.length), { maxLength: 10 }), (cuts) => {
      const places = [0, ...cuts.sort((one, other) => one - other), bytes.length];
      assert.equal(rewrite(type, places.slice(1).map((end, index) => bytes.subarray(places[index], end))), expected);
    }));
  });
}

Deno.test("rewriting: a page that only looks like a stream of components has its links rewritten", () => {
  const page = `2:T3e8,${LOCAL} self.__next_f.push([1, ${LOCAL}`;
  assert.equal(rewrite("text/html", [Buffer.from(page)]), page.replaceAll(LOCAL, PUBLIC));
});

Deno.test("rewriting: a length that no number holds counts nothing", () => {
  const flight = `1:T${"f".repeat(40)},${LOCAL}\n2:Tzz,${LOCAL}\n3:"${LOCAL}"\n`;
  assert.equal(rewrite("text/x-component", [Buffer.from(flight)]), flight.replaceAll(LOCAL, PUBLIC));
});
