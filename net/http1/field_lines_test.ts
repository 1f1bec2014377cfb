import assert from "node:assert/strict";
import fc from "fast-check";
import { checkFieldLines, FieldSyntaxError, scanFieldLines, scanValue } from "./field_lines.ts";

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

/** What a scan says: an offset, or why it refuses. */
function outcome(scan: () => number): number | string {
  try {
    return scan();
  } catch (error) {
    assert(error instanceof FieldSyntaxError);
    return error.message;
  }
}

Deno.test("scanValue says the same of four bytes at a time as of one, wherever they lie", () => {
  const byte = fc.oneof(
    { weight: 12, arbitrary: fc.integer({ min: 0x20, max: 0x7e }) },
    { weight: 2, arbitrary: fc.constantFrom(0x09, 0x0d, 0x0a, 0x1f, 0x20, 0x7e, 0x7f, 0x80, 0xfe, 0xff) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 0xff }) },
  );
  fc.assert(
    fc.property(fc.array(byte, { maxLength: 40 }), fc.nat(8), fc.nat(8), (bytes, before, behind) => {
      const memory = Uint8Array.from([
        ...new Array(before).fill(0),
        ...bytes,
        0x0d,
        0x0a,
        ...new Array(behind).fill(0),
      ]);
      const buffer = memory.subarray(1), start = Math.max(0, before - 1), end = buffer.length - behind;
      const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.length);
      assert.equal(outcome(() => scanValue(buffer, start, end, view)), outcome(() => scanValue(buffer, start, end)));
    }),
    { numRuns: 5000 },
  );
  for (let value = 0; value <= 0xff; value++) {
    for (let at = 0; at < 8; at++) {
      for (const other of [0x20, 0x7e, 0xff]) {
        const buffer = new Uint8Array(10).fill(other);
        buffer[at] = value;
        buffer.set([0x0d, 0x0a], 8);
        const view = new DataView(buffer.buffer);
        assert.equal(outcome(() => scanValue(buffer, 0, 10, view)), outcome(() => scanValue(buffer, 0, 10)));
      }
    }
  }
});
