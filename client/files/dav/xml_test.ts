import { deepEqual, equal, ok, throws } from "node:assert/strict";
import fc from "fast-check";
import { HttpError } from "../../../common/http_error.ts";
import { parseXml, serializeXml, type XmlElement } from "./xml.ts";

const parse = (text: string) => parseXml(new TextEncoder().encode(text));

Deno.test("parseXml knows names by their namespaces, whatever the prefixes", () => {
  const one = parse('<D:a xmlns:D="DAV:"><x:b xmlns:x="urn:x" x:k="v">t</x:b><c/></D:a>');
  const two = parse(
    '<?xml version="1.0"?><a xmlns="DAV:"><b xmlns="urn:x" xmlns:y="urn:x" y:k="v">t</b><c xmlns=""/></a>',
  );
  deepEqual(one, two);
  deepEqual(parseXml(new Uint8Array([0xef, 0xbb, 0xbf, ...new TextEncoder().encode("<a/>")])).name, "a");
});

Deno.test("parseXml refuses a document type, so that no entity is read or multiplied", () => {
  for (
    const text of [
      '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a>&e;</a>',
      '<!DOCTYPE a SYSTEM "http://evil.example/x.dtd"><a/>',
      "<!DOCTYPE a><a/>",
      "<a>&e;</a>",
      "<a><b></a></b>",
      "<a/><b/>",
      "<x:a/>",
      '<a k="1" k="2"/>',
      "<a>\u0000</a>",
      "",
      " ",
    ]
  ) throws(() => parse(text), { status: 400 }, text);
  throws(() => parseXml(new Uint8Array([0x3c, 0x61, 0xff, 0x2f, 0x3e])), { status: 400 });
});

Deno.test("parseXml gives any bytes an element or 400, and one as deep or wide as a body can be in no time", () => {
  fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
    try {
      ok(parse(`<a>${text}</a>`).name === "a");
    } catch (error) {
      ok(error instanceof HttpError && error.status === 400);
    }
  }));
  throws(() => parse("<a>".repeat(40_000)), { status: 400 });
  equal(parse(`<a>${"<b/>".repeat(30_000)}</a>`).children.length, 30_000);
});

const NAME = fc.constantFrom("a", "b-c", "é", "_x.1");
const NAMESPACE = fc.constantFrom("", "DAV:", "urn:x", 'urn:"<&>', "http://example.com/?a=b&c");
const TEXT = fc.string({ unit: fc.constantFrom("<", "&", ">", '"', "'", " ", "é", "😀", "]]>", "\r", "\n", "\t", "x") })
  .filter((text) => text !== "");

const ELEMENT = fc.letrec<{ element: XmlElement }>((tie) => ({
  element: fc.record({
    namespace: NAMESPACE,
    name: NAME,
    attributes: fc.array(fc.record({ namespace: fc.constantFrom("", "urn:y"), name: NAME, value: TEXT }), {
      maxLength: 1,
    }),
    children: fc.oneof(
      { depthSize: "small" },
      fc.array(TEXT, { maxLength: 1 }),
      fc.array(tie("element"), { maxLength: 2 }),
    ),
  }),
})).element;

Deno.test("what serializeXml writes is read as what it was, inside any other element", () => {
  fc.assert(fc.property(ELEMENT, (element) => {
    const [read] = parse(`<D:outer xmlns:D="DAV:">${serializeXml(element)}</D:outer>`).children;
    deepEqual(read, element);
  }));
});
