import assert from "node:assert/strict";
import fc from "fast-check";
import { FieldSyntaxError } from "../../common/http1/mod.ts";
import { MAX_HEAD } from "../../protocol/mod.ts";
import { parseResponseHead } from "./response_head.ts";

const latin1 = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
const parse = (text: string) => parseResponseHead(latin1(text), 0, text.length);

Deno.test("parseResponseHead keeps order, duplicates and bytes that are not ASCII", () => {
  assert.deepEqual(parse("Set-Cookie: a\r\nX: \x80\xe9\xff\r\nset-cookie:b:c\r\nEmpty:\r\n"), [
    ["set-cookie", "a"],
    ["x", "\x80\xe9\xff"],
    ["set-cookie", "b:c"],
    ["empty", ""],
  ]);
  assert.deepEqual(parse(""), []);
});

Deno.test("parseResponseHead looks at its range only", () => {
  const bytes = latin1("\0\0a: b\r\n\0");
  assert.deepEqual(parseResponseHead(bytes, 2, 8), [["a", "b"]]);
});

Deno.test("parseResponseHead drops what belongs to one connection, also what several Connection fields name", () => {
  assert.deepEqual(
    parse("connection: X-One\r\nx-one: 1\r\nx-two: 2\r\nConnection: close, x-two\r\nkeep-alive: 5\r\nx: y\r\n"),
    [["x", "y"]],
  );
  assert.deepEqual(parse("connection: x-one\r\nconnection: close\r\nx-one: 1\r\nportway-error: fake\r\n"), []);
});

Deno.test("parseResponseHead takes the largest head, ASCII or not", () => {
  for (const char of ["a", "\xe9"]) {
    const value = char.repeat(MAX_HEAD - 5);
    assert.equal(parse(`x: ${value}\r\n`)[0][1].length, value.length);
  }
});

Deno.test("whatever parseResponseHead lets through is fit for a Response, the rest is a FieldSyntaxError", () => {
  const piece = fc.oneof(
    fc.constantFrom("a: b\r\n", "\r\n", "\r", "\n", ":", " ", "\0", "connection: a,b\r\n", "\xe9"),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      try {
        new Response(null, { headers: parse(pieces.join("")) });
      } catch (error) {
        assert(error instanceof FieldSyntaxError, String(error));
      }
    }),
    { numRuns: 3000 },
  );
});
