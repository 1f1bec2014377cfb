import assert from "node:assert/strict";
import fc from "fast-check";
import { checkFieldLines, FieldSyntaxError, scanFieldLines } from "./field_lines.ts";

const latin1 = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
const check = (text: string) => checkFieldLines(latin1(text), 0, text.length);

Deno.test("checkFieldLines tells whether all bytes are ASCII", () => {
  assert.equal(check(""), true);
  assert.equal(check("A: b\r\nA: c\r\n"), true);
  assert.equal(check("A:\r\n"), true);
  assert.equal(check("A: b\r\nB: \x80\r\n"), false);
  assert.equal(check("A: \xff\r\nB: c\r\n"), false);
});

Deno.test("checkFieldLines looks at nothing outside its range", () => {
  assert.equal(checkFieldLines(latin1("\xff\0A: b\r\n\0\xff"), 2, 8), true);
});

Deno.test("checkFieldLines refuses what is not whole field lines", () => {
  const refused: [string, RegExp][] = [
    ["A: b", /cut short/],
    ["A: b\r", /cut short/],
    ["A", /cut short/],
    ["A: b\r\n\r\n", /starts with byte 0x0d/],
    ["\r\n", /starts with byte 0x0d/],
    ["A: b\r\n c: d\r\n", /folding/],
    ["A: b\r\n\tc: d\r\n", /folding/],
    ["A : b\r\n", /a space in the field name "A"/],
    [": b\r\n", /name is empty/],
    ["A: b\nC: d\r\n", /bare LF/],
    ["A: b\rC: d\r\n", /bare CR/],
    ["A: \0\r\n", /byte 0x00/],
    ["A: \x7f\r\n", /byte 0x7f/],
    ["\xe9: b\r\n", /starts with byte 0xe9/],
  ];
  for (const [text, why] of refused) {
    assert.throws(() => check(text), (error: unknown) => error instanceof FieldSyntaxError && why.test(error.message));
  }
});

Deno.test("checkFieldLines takes exactly what scanFieldLines takes before its blank line", () => {
  const piece = fc.oneof(fc.constantFrom("A: b\r\n", "C:\xe9\r\n", "\r\n", "\r", "\n", " ", ":", "\0"), fc.string());
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const block = pieces.join("");
      const bytes = latin1(block + "\r\n");
      let scanned = -1;
      let checked = true;
      try {
        scanned = scanFieldLines(bytes, 0, bytes.length);
      } catch (error) {
        assert(error instanceof FieldSyntaxError);
      }
      try {
        check(block);
      } catch (error) {
        assert(error instanceof FieldSyntaxError);
        checked = false;
      }
      assert.equal(checked, scanned === bytes.length);
    }),
    { numRuns: 2000 },
  );
});

Deno.test("scanFieldLines hands on where each name and value lies, in order, repeats included", () => {
  const text = "Set-Cookie: a\r\nset-cookie:b \r\nX:\r\n\r\nrest";
  const fields: string[][] = [];
  const after = scanFieldLines(latin1(text), 0, text.length, (nameStart, nameEnd, valueStart, valueEnd) => {
    fields.push([text.slice(nameStart, nameEnd), text.slice(valueStart, valueEnd)]);
  });
  assert.deepEqual(fields, [["Set-Cookie", " a"], ["set-cookie", "b "], ["X", ""]]);
  assert.equal(text.slice(after), "rest");
});

Deno.test("scanFieldLines answers -1 until the blank line is whole", () => {
  const text = "A: b\r\nC: d\r\n\r\n";
  for (let end = 0; end < text.length; end++) assert.equal(scanFieldLines(latin1(text), 0, end), -1);
  assert.equal(scanFieldLines(latin1(text), 0, text.length), text.length);
});
