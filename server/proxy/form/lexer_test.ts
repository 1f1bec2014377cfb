import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { FormLexer } from "./lexer.ts";

async function* inPieces(body: Uint8Array, lengths: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let at = 0, i = 0; at < body.length; i++) {
    const length = lengths[i % lengths.length] || 1;
    yield await Promise.resolve(body.subarray(at, at + length));
    at += length;
  }
}

/** All tokens, neighbouring data put together. */
async function listTokens(body: string | Buffer, lengths = [1e9], boundary = "b"): Promise<[string, string][]> {
  const lexer = new FormLexer(inPieces(Buffer.from(body), lengths), boundary);
  const tokens: [string, string][] = [];
  for (let token = await lexer.next(); token !== null; token = await lexer.next()) {
    const text = token.bytes.toString("latin1");
    const last = tokens.at(-1);
    if (token.kind === "data" && last?.[0] === "data") last[1] += text;
    else tokens.push([token.kind, text]);
  }
  return tokens;
}

Deno.test("FormLexer tells delimiters from what only begins like one", async () => {
  const body = "before\r\n--b \t\r\none\r\n--bc\r\n--b-\r\n--b x\r\n--b--after";
  assert.deepEqual(await listTokens(body), [
    ["data", "\r\nbefore"],
    ["delimiter", "\r\n--b \t\r\n"],
    ["data", "one\r\n--bc\r\n--b-\r\n--b x"],
    ["last_delimiter", "\r\n--b--"],
    ["data", "after"],
  ]);
  assert.deepEqual(await listTokens("--b"), [["data", "\r\n--b"]]);
  assert.deepEqual(await listTokens(`--b${" ".repeat(100)}\r\n`), [["data", `\r\n--b${" ".repeat(100)}\r\n`]]);
});

Deno.test("FormLexer tells the same whatever chunks a body comes in, and loses no byte", async () => {
  const fragment = fc.constantFrom(
    "\r",
    "\n",
    "\r\n",
    "-",
    "--",
    "b",
    "x",
    "--b",
    "\r\n--b",
    " ",
    "\r\n--b\r\n",
    "\xff",
  );
  const lengths = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(fc.array(fragment, { maxLength: 30 }), lengths, async (fragments, lengths) => {
      const body = Buffer.from(fragments.join(""), "latin1");
      const whole = await listTokens(body);
      assert.deepEqual(await listTokens(body, lengths), whole);
      assert.equal(whole.map(([, text]) => text).join(""), `\r\n${body.toString("latin1")}`);
      const expected = /(\r\n--b(?:[ \t]{0,64}\r\n|--))/;
      assert.deepEqual(
        whole.map(([, text]) => text),
        `\r\n${body.toString("latin1")}`.split(expected).filter((text) => text !== ""),
      );
    }),
    { numRuns: 500 },
  );
});

Deno.test("FormLexer hands over what it has not told yet, and lets go of its source with it", async () => {
  let isLetGo = false;
  const source = (async function* () {
    try {
      yield* inPieces(Buffer.from("--b\r\none\r\n--b\r\ntwo"), [16, 1]);
    } finally {
      isLetGo = true;
    }
  })();
  const lexer = new FormLexer(source, "b");
  await lexer.next();
  assert.equal((await lexer.next())?.bytes.toString(), "one");
  let rest = "";
  for await (const bytes of lexer.rest()) {
    rest += Buffer.from(bytes).toString();
    if (rest.endsWith("t")) break;
  }
  assert.equal(rest, "\r\n--b\r\nt");
  assert(isLetGo);
});
