import { deepEqual, equal } from "node:assert/strict";
import { hexLines } from "./hex_lines.js";
import { decodeText } from "./decode_text.js";
import { readMultipart } from "./form_fields.js";
import { readBody } from "./readable_body.js";
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
  equal(decodeText(bytes("aé").subarray(0, 2), null, false), "a");
  equal(decodeText(bytes("aé").subarray(0, 2), null, true), null);
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

/** Text as bytes of a single-byte or CJK charset, written by hand. */
const CHARSETS: readonly [charset: string, bytes: number[], text: string][] = [
  ["iso-8859-1", [0x5a, 0x6f, 0xeb], "Zoë"],
  ["windows-1252", [0x80, 0x35], "€5"],
  ["GBK", [0xc4, 0xe3, 0xba, 0xc3], "你好"],
  ["Shift_JIS", [0x83, 0x65, 0x83, 0x58, 0x83, 0x67], "テスト"],
  ["utf-16le", [0x5a, 0, 0xeb, 0], "Zë"],
];

Deno.test("readBody decodes every declared charset in texts, forms and parts of forms", () => {
  const escaped = (of: number[]) => of.map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
  for (const [charset, coded, text] of CHARSETS) {
    const raw = Uint8Array.from(coded);
    deepEqual(readBody(raw, `text/plain; charset=${charset}`, true), { kind: "text", text }, charset);
    deepEqual(readBody(raw, `text/plain; charset="${charset}"; x=y`, true), { kind: "text", text }, charset);
    if (charset.startsWith("utf-16")) continue;
    const type = "application/x-www-form-urlencoded";
    const fields = [["name", text]];
    deepEqual(readBody(bytes(`name=${escaped(coded)}`), `${type}; charset=${charset}`, true), { kind: "form", fields });
    const own = [["_charset_", charset], ["name", text]];
    deepEqual(readBody(bytes(`_charset_=${charset}&name=${escaped(coded)}`), type, true), {
      kind: "form",
      fields: own,
    });
    const head = "--b\r\nContent-Disposition: form-data; name=";
    const form = Uint8Array.of(
      ...bytes(`${head}"_charset_"\r\n\r\n${charset}\r\n${head}"name"\r\n\r\n`),
      ...coded,
      ...bytes("\r\n--b--\r\n"),
    );
    const part = readMultipart(form, "multipart/form-data; boundary=b")?.[1];
    deepEqual(part && readBody(part.body, part.type, true), { kind: "text", text }, charset);
  }
  deepEqual(readBody(bytes("Zoë"), "text/plain; charset=gbk-nonsense", true), { kind: "text", text: "Zoë" });
  deepEqual(readBody(bytes("Zoë☃"), "text/plain; charset=shift_jis", true), { kind: "text", text: "Zoë☃" });
  deepEqual(readBody(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61), "text/plain; charset=gbk", true), {
    kind: "text",
    text: "a",
  });
});

Deno.test("readBody shows a form body without an equals sign unchanged, and indents JSON in form fields", () => {
  const type = "application/x-www-form-urlencoded";
  deepEqual(readBody(bytes("hello+big%20world"), type, true), { kind: "text", text: "hello+big%20world" });
  deepEqual(readBody(bytes("payload=%7B%22a%22%3A%5B1%5D%7D&n=1"), type, true), {
    kind: "form",
    fields: [["payload", '{\n  "a": [\n    1\n  ]\n}'], ["n", "1"]],
  });
  deepEqual(readBody(bytes("a=%zz%4&b=%00"), type, true), { kind: "form", fields: [["a", "%zz%4"], ["b", "\0"]] });
});
