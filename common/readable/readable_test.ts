import { deepEqual, equal } from "node:assert/strict";
import { hexLines } from "./hex_lines.js";
import { readMultipart } from "./multipart.js";
import { decodeText, readBody } from "./readable_body.js";
import { indentXml } from "./xml_indent.js";

const bytes = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

Deno.test("a body is read by its type, and by what is in it where that says nothing", () => {
  const kind = (text: string, type: string | null) => readBody(bytes(text), type, true).kind;
  equal(kind("", "application/json"), "empty");
  equal(kind('{"a":1}', "application/json; charset=utf-8"), "json");
  equal(kind('{"a":1}', "application/vnd.api+json"), "json");
  equal(kind('{"a":1}', null), "json");
  equal(kind('{"a":1', "application/json"), "text");
  equal(kind('{"a":1}', "application/x-www-form-urlencoded"), "json");
  equal(kind("a=1&b=2", "application/x-www-form-urlencoded"), "form");
  equal(kind("<a/>", "application/xml"), "xml");
  equal(kind("<?xml version='1.0'?><a/>", null), "xml");
  equal(kind("hello", "text/plain"), "text");
  equal(kind("a\0b", "text/plain"), "binary");
  equal(readBody(Uint8Array.of(0xff, 0xfe), null, true).kind, "binary");
});

Deno.test("a form's fields are decoded, duplicates too", () => {
  deepEqual(readBody(bytes("a=1&a=%C3%A9+x&b"), "application/x-www-form-urlencoded", true), {
    kind: "form",
    fields: [["a", "1"], ["a", "é x"], ["b", ""]],
  });
});

Deno.test("a beginning that ends within a character is text", () => {
  equal(decodeText(bytes("aé").subarray(0, 2), false), "a");
  equal(decodeText(bytes("aé").subarray(0, 2), true), null);
});

Deno.test("parts of a multipart body are told apart, with bytes as they are", () => {
  const text = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n2\r\n--b\r\n' +
    'Content-Disposition: form-data; name="f"; filename="x.bin"\r\nContent-Type: image/png\r\n\r\n\0\r\n--b--\r\n';
  const parts = readMultipart(bytes(text), "multipart/form-data; boundary=b") ?? [];
  deepEqual(parts.map(({ name, fileName, type, isWhole }) => [name, fileName, type, isWhole]), [
    ["a", null, null, true],
    ["f", "x.bin", "image/png", true],
  ]);
  deepEqual(parts.map(({ body }) => new TextDecoder().decode(body)), ["1\r\n2", "\0"]);
  const cut = readMultipart(bytes(text.slice(0, 55)), 'multipart/form-data; boundary="b"') ?? [];
  deepEqual(cut.map(({ isWhole }) => isWhole), [false]);
  equal(readMultipart(bytes("hello"), "multipart/form-data; boundary=b"), null);
  equal(readMultipart(bytes(text), "multipart/form-data"), null);
});

Deno.test("XML is indented, and elements of text stay on one line", () => {
  equal(
    indentXml('<?xml version="1.0"?><a x="1"><b>text</b><c/><!-- note --><d>more<e></e>tail</d></a>'),
    '<?xml version="1.0"?>\n<a x="1">\n  <b>text</b>\n  <c/>\n  <!-- note -->\n  <d>\n    more\n    <e></e>\n    tail\n' +
      "  </d>\n</a>\n",
  );
  equal(indentXml("plain"), null);
});

Deno.test("bytes are shown with their offset and what prints of them", () => {
  deepEqual(hexLines(bytes("hello, world\0\x1b[m!")), [
    "00000000  68 65 6c 6c 6f 2c 20 77  6f 72 6c 64 00 1b 5b 6d  hello, world..[m",
    "00000010  21                                                !",
  ]);
});

Deno.test("long bodies are read in their own time", () => {
  const count = 100_000;
  equal(indentXml("<a>".repeat(count))?.length, indentXml("<a>".repeat(count))?.length);
  equal(readMultipart(bytes("--b-b--b".repeat(count)), "multipart/form-data; boundary=b-b--b-c"), null);
  equal(readBody(bytes("[".repeat(count)), "application/json", true).kind, "text");
});
