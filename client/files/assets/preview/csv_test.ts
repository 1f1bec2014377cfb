import { deepEqual, equal, ok } from "node:assert/strict";
import { findSeparator, parseTable } from "./csv.js";

const parse = (text: string) => parseTable(text, { maxRows: 100 });

Deno.test("parseTable reads quoted cells with separators, line breaks and quotes in them", () => {
  deepEqual(parse('a,b\r\n"1,5","two\nlines ""x"""\r\n,\n'), [["a", "b"], ["1,5", 'two\nlines "x"'], ["", ""]]);
});

Deno.test("parseTable takes what is not written by the rules as well as it can", () => {
  deepEqual(parse('\ufeffa,b\n"open,\n1'), [["a", "b"], ["open,\n1"]]);
  deepEqual(parse('"a"x,b\n\n1,'), [["ax", "b"], ["1", ""]]);
  deepEqual(parse(""), []);
});

Deno.test("findSeparator takes what there is most of outside quotes", () => {
  deepEqual(["a;b;c\n1,5;2;3", "a\tb", "a|b", '"x;y;z",b', "plain"].map(findSeparator), [";", "\t", "|", ",", ","]);
});

Deno.test("parseTable stops at its limit, and takes time in line with the length", () => {
  equal(parseTable("a\n".repeat(1000), { maxRows: 10 }).length, 10);
  for (const hostile of ['"'.repeat(1_000_000), '"a""'.repeat(250_000), ",".repeat(1_000_000)]) {
    ok(parseTable(hostile, { maxRows: 100 }).length <= 100);
  }
});
