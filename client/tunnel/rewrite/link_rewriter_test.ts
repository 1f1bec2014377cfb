import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { decodeLatin1, encodeLatin1 } from "../../../net/http1/mod.ts";
import { createTestRewriter, rewritePieces, rewriteText } from "./_rewrite_text.ts";

const PUBLIC = "app-x1.t.example";

const rewritten: [text: string, expected: string][] = [
  ["http://localhost:3000", `https://${PUBLIC}`],
  ["https://localhost:3000/a", `https://${PUBLIC}/a`],
  ["ws://localhost:3000/hmr", `wss://${PUBLIC}/hmr`],
  ["wss://localhost:3000", `wss://${PUBLIC}`],
  ['<script src="//localhost:3000/x.js">', `<script src="//${PUBLIC}/x.js">`],
  ["http://127.0.0.1:3000/", `https://${PUBLIC}/`],
  ["http://[::1]:3000/", `https://${PUBLIC}/`],
  ["http://0.0.0.0:3000/", `https://${PUBLIC}/`],
  ["HTTP://LocalHost:3000/", `https://${PUBLIC}/`],
  // A port of its own has a host of its own.
  ["http://localhost:4000/api", "https://app-x1--4000.t.example/api"],
  // The port that a URL does not name.
  ["http://localhost/a", "https://app-x1--80.t.example/a"],
  ["https://127.0.0.1", "https://app-x1--443.t.example"],
  ["ws://[::1]?", "wss://app-x1--80.t.example?"],
  ["wss://localhost#", "wss://app-x1--443.t.example#"],
  ["('//localhost/a')", "('//app-x1--80.t.example/a')"],
  ["http://localhost:80/", "https://app-x1--80.t.example/"],
  // Inside of other text.
  [String.raw`"http:\/\/localhost:3000\/a"`, String.raw`"https:\/\/${PUBLIC}\/a"`],
  [String.raw`"{\"a\":\"http:\\\/\\\/localhost:3000\\\/a\"}"`, String.raw`"{\"a\":\"https:\\\/\\\/${PUBLIC}\\\/a\"}"`],
  [String.raw`"http:\u002F\u002Flocalhost:3000\u002Fa"`, String.raw`"https:\u002F\u002F${PUBLIC}\u002Fa"`],
  [String.raw`'http\x3a\x2f\x2flocalhost\x3a3000\x2f'`, String.raw`'https\x3a\x2f\x2f${PUBLIC}\x2f'`],
  ["?next=http%3A%2F%2Flocalhost%3A3000%2Fa", `?next=https%3A%2F%2F${PUBLIC}%2Fa`],
  ["?next=http%3a%2f%2flocalhost%3a3000%2fa", `?next=https%3a%2f%2f${PUBLIC}%2fa`],
  ["?u=%3Fnext%3Dhttp%253A%252F%252Flocalhost%253A3000", `?u=%3Fnext%3Dhttps%253A%252F%252F${PUBLIC}`],
  ["http%3A%2F%2F%5B%3A%3A1%5D%3A3000", `https%3A%2F%2F${PUBLIC}`],
  ["http://%5B::1%5D:3000/", `https://${PUBLIC}/`],
  ["http:&#x2F;&#x2F;localhost:3000&#x2F;a", `https:&#x2F;&#x2F;${PUBLIC}&#x2F;a`],
  ["http:&#47;&#47;localhost:3000&#47;a", `https:&#47;&#47;${PUBLIC}&#47;a`],
  // The longest there is.
  [
    String.raw`https\\u003a\\u002f\\u002f%255b%253a%253a1%255d\\u003a4000%2f`,
    String.raw`https\\u003a\\u002f\\u002fapp-x1--4000.t.example%2f`,
  ],
  // What ends before a link begins.
  [String.raw`"Open:\nhttp://localhost:3000\n"`, String.raw`"Open:\nhttps://${PUBLIC}\n"`],
  [String.raw`\u0022http://localhost:3000\u0022`, String.raw`\u0022https://${PUBLIC}\u0022`],
  ["%22http://localhost:3000%22", `%22https://${PUBLIC}%22`],
  ["url(http://localhost:3000/a.png)", `url(https://${PUBLIC}/a.png)`],
  // Code that puts a link together.
  ['scheme + "://localhost:3000/x"', `scheme + "://${PUBLIC}/x"`],
  ["`${proto}://localhost:3000${path}`", `\`\${proto}://${PUBLIC}\${path}\``],
  // What ends a sentence.
  [
    "See http://localhost:3000. Or http://localhost:4000: both",
    `See https://${PUBLIC}. Or https://app-x1--4000.t.example: both`,
  ],
  ["http://localhost:3000.", `https://${PUBLIC}.`],
  ["http://localhost:3000,http://localhost:3000", `https://${PUBLIC},https://${PUBLIC}`],
  ["http://localhost:3000\u00e2\u0080\u0099", `https://${PUBLIC}\u00e2\u0080\u0099`],
  // The service's own name.
  ["http://shop.test:3000/", `https://${PUBLIC}/`],
];

for (const [text, expected] of rewritten) {
  Deno.test(`rewriting: ${text.replaceAll(/[^ -~]/g, "?")} becomes public`, () => {
    assert.equal(rewriteText(text), expected);
    assert.equal(rewriteText(`\n${text}\n`), `\n${expected}\n`);
  });
}

const untouched: string[] = [
  "http://localhost:30001",
  "http://localhost:300",
  "http://localhost:30000/",
  "http://localhost:5000/",
  "http://localhost:65536/",
  "http://localhost:3000000/",
  "http://mylocalhost:3000",
  "http://my.localhost:3000",
  "http://localhost:3000.example.com/",
  "http://localhost.example.com:3000/",
  "http://localhost:3000@example.com/",
  "http%3A%2F%2Flocalhost%3A3000%40example.com",
  "http://user@localhost:3000/",
  "http://localhost-3000/",
  "http://localhost_:3000/",
  "http://localhost:3000-a/",
  "http://localhost:3000:80/",
  "http://localhost:${port}/",
  "http://localhost:/",
  "http://127.0.0.10:3000",
  "http://127.0.0.1.example:3000",
  "http://10.0.0.0:3000",
  "http://[::1]0:3000",
  "http://[::12]:3000",
  "http://[1::1]:3000",
  "http://[::1:3000",
  "http://::1:3000",
  "localhost:3000",
  "redis://localhost:3000",
  "git+http://localhost:3000",
  "xhttp://localhost:3000",
  "aws://localhost:3000",
  "https//localhost:3000",
  "http:/localhost:3000",
  "http:localhost:3000",
  "http://example.com//localhost:3000",
  "http:///localhost:3000",
  "file:////localhost:3000",
  "http://shop.test/",
  "http://shop.test:4000/",
];

for (const text of untouched) {
  Deno.test(`rewriting: ${text} stays`, () => {
    assert.equal(rewriteText(text), text);
    assert.equal(rewriteText(`"${text}"`), `"${text}"`);
  });
}

Deno.test("rewriting: a public URL of http gets http and ws, and its port stands as the link spells a colon", () => {
  const options = { base: "app-x1.tunnel.localhost:8787", isSecure: false };
  const text =
    "https://localhost:3000 wss://localhost:4000 http%3A%2F%2Flocalhost%3A3000 '//localhost/' http%3A%2F%2Flocalhost%2F";
  assert.equal(
    rewriteText(text, options),
    "http://app-x1.tunnel.localhost:8787 ws://app-x1--4000.tunnel.localhost:8787 " +
      "http%3A%2F%2Fapp-x1.tunnel.localhost%3A8787 '//app-x1--80.tunnel.localhost:8787/' " +
      "http%3A%2F%2Fapp-x1--80.tunnel.localhost%3A8787%2F",
  );
});

Deno.test("rewriting: from the host of another port, each port still gets its own", () => {
  assert.equal(
    rewriteText("http://localhost:3000 http://localhost:4000", { base: "app-x1--4000.t.example" }),
    "https://app-x1.t.example https://app-x1--4000.t.example",
  );
});

Deno.test("rewriting: nothing is copied where there is nothing to change", () => {
  const bytes = encodeLatin1("plain text, and https://example.com/\n");
  const passed = createTestRewriter().push(bytes);
  assert.equal(passed.buffer, bytes.buffer);
  assert.equal(passed.length, bytes.length);
});

const events = ["data: hello\n\n", '{"a":1}', "<p>hello</p>", "with", "the sloth", "a/b/c.", "it's\u00e9"];
for (const text of events) {
  Deno.test(`rewriting: ${JSON.stringify(text)} goes on at once, whatever follows`, () => {
    assert.equal(decodeLatin1(createTestRewriter().push(encodeLatin1(text)), 0, text.length), text);
  });
}

/** Text that is close to links, cut anywhere. */
const hostile = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...rewritten.map(([text]) => text)) },
    { weight: 1, arbitrary: fc.constantFrom(...untouched) },
    {
      weight: 4,
      arbitrary: fc.constantFrom(
        ...'http|https|ws|wss|:|/|//|\\|\\/|\\\\/|%|%2|%2F|%2f|%3A|%25|\\u00|\\u002F|\\x|\\x2f|&|&#|&#x2F;|&#47;|localhost|127.0.0.1|[|[::1]|%5B::1%5D|shop.test|3000|4000|0|.|@| |"|a|\n|\u00ff'
          .split("|"),
      ),
    },
    {
      weight: 1,
      arbitrary: fc.string({ unit: "binary", maxLength: 8 }).map((text) => text.replace(/[^\0-\xff]/g, "?")),
    },
  ),
  { maxLength: 30 },
).map((parts) => parts.join(""));

Deno.test("rewriting: wherever a text is cut, the result is that of the whole, and less than 100 bytes are held", () => {
  fc.assert(
    fc.property(hostile, fc.array(fc.nat(600), { maxLength: 12 }), (text, cuts) => {
      const { text: result, mostHeld } = rewritePieces(cut(text, cuts));
      assert.equal(result, rewriteText(text));
      assert.ok(mostHeld < 100);
    }),
    { numRuns: 20_000 },
  );
});

Deno.test("rewriting: a text byte by byte gives what the whole gives", () => {
  fc.assert(
    fc.property(hostile, (text) => assert.equal(rewritePieces([...text]).text, rewriteText(text))),
    { numRuns: 5000 },
  );
});

const samples = new URL("./testdata/", import.meta.url);
for (const name of readdirSync(samples).filter((name) => !name.includes(".expected."))) {
  Deno.test(`rewriting: ${name} becomes what is expected of it, in 1, 100 and 10,000 pieces`, () => {
    const text = readFileSync(new URL(name, samples), "latin1");
    const expected = readFileSync(new URL(name.replace(/(\.[^.]+)$/, ".expected$1"), samples), "latin1");
    assert.equal(rewriteText(text), expected);
    for (const count of [100, 10_000]) {
      const size = Math.max(1, Math.ceil(text.length / count));
      const cuts = Array.from({ length: Math.ceil(text.length / size) }, (_, index) => index * size);
      assert.equal(rewritePieces(cut(text, cuts)).text, expected, `in ${count} pieces`);
    }
  });
}

function cut(text: string, cuts: readonly number[]): string[] {
  const places = [0, ...cuts.map((at) => Math.min(at, text.length)).sort((one, other) => one - other), text.length];
  return places.slice(1).map((end, index) => text.slice(places[index], end));
}
