import { deepEqual, equal, throws } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { HttpError } from "../../../common/http_error.ts";
import { parseDescription } from "./description.ts";

const url = "http://a.example/";

Deno.test("query is added behind the URL's own, of which no byte changes", () => {
  const cases: [url: string, query: unknown, wanted: string][] = [
    ["?name=a%20b&sig=x~y&flag", { n: 1 }, "?name=a%20b&sig=x~y&flag&n=1"],
    ["?q=a+b%2Bc&x=%C3%9F'()*", [["y", "ü &"], ["y", true]], "?q=a+b%2Bc&x=%C3%9F%27()*&y=%C3%BC+%26&y=true"],
    ["?", { n: 1 }, "?n=1"],
    ["", { n: [1, 2] }, "?n=1&n=2"],
    ["?a%20b", {}, "?a%20b"],
    ["?a%20b", [], "?a%20b"],
  ];
  for (const [search, query, wanted] of cases) {
    equal(parseDescription({ url: url + search, query }).url.href, url + wanted);
  }
});

Deno.test("a body in base64 is taken with and without padding, in both alphabets, and refused when it is cut", () => {
  const cases = [["", ""], ["QQ==", "A"], ["QQ", "A"], ["QUI=", "AB"], ["QUI", "AB"], ["QUJD", "ABC"], ["Pj8_", ">??"]];
  for (const [base64, wanted] of cases) {
    equal(Buffer.from(parseDescription({ url, body: { base64 } }).body ?? []).toString(), wanted, base64);
  }
  for (const base64 of ["A", "QQ=", "QUJDR", "QUJDRA=", "=", "==", "QUJD=", "QUJD==", "Q===", "Q=Q=", "QQ ==", "ä"]) {
    deepEqual(complaint({ url, body: { base64 } }), 'Field "body.base64" is not base64.', base64);
  }
});

Deno.test("a description is told what is wrong with it", () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => [`x-${index}`, "1"]);
  const cases: [description: Record<string, unknown>, message: string][] = [
    [{ headers: many(501) }, 'Field "headers" has more than 500 entries.'],
    [{ headers: Object.fromEntries(many(501)) }, 'Field "headers" has more than 500 entries.'],
    [{ query: many(1001) }, 'Field "query" has more than 1000 entries.'],
    [{ headers: [["a"]] }, 'Field "headers.0" must have at least 2 entries.'],
    [{ headers: [["a", "b", "c"]] }, 'Field "headers.0" must have at most 2 entries.'],
    [{ headers: 5 }, 'Field "headers" has none of the forms it may have.'],
    [{ headers: { Host: "a", host: "b" } }, 'Field "headers" has Host more than once.'],
    [{ headers: [["HOST", "a"], ["Host", "a"]] }, 'Field "headers" has Host more than once.'],
    [{ headers: JSON.parse('{"__proto__": "a"}') }, 'Field "headers.__proto__" can only be given as a pair.'],
    [{ query: JSON.parse('{"a": 1, "__proto__": "a"}') }, 'Field "query.__proto__" can only be given as a pair.'],
    [{ body: { text: "a", json: 1 } }, 'Field "body" must have one of text, json and base64.'],
    [{ body: {} }, 'Field "body" must have one of text, json and base64.'],
    [{ body: { txt: "a" } }, 'Field "body.txt" is not known.'],
    [{ body: { text: 5 } }, 'Field "body.text" must be of type string.'],
    [{ body: 5 }, 'Field "body" has none of the forms it may have.'],
    [{ method: "X".repeat(33) }, 'Field "method" must have at most 32 characters.'],
    [{ maxRedirects: 21 }, 'Field "maxRedirects" must be at most 20.'],
    [{ timeoutMs: 0 }, 'Field "timeoutMs" must be at least 1.'],
  ];
  for (const [description, message] of cases) equal(complaint({ url, ...description }), message);
});

Deno.test("names that objects treat in their own way are sent when given as pairs", () => {
  const description = parseDescription({ url, headers: [["__proto__", "a"]], query: [["__proto__", "b"]] });
  deepEqual([description.headers, description.url.search], [[["__proto__", "a"]], "?__proto__=b"]);
});

Deno.test("a body of JSON null and an empty text are bodies, and null is none", () => {
  const sent = (body: unknown) => {
    const parsed = parseDescription({ url, body });
    return parsed.body === null ? null : Buffer.from(parsed.body).toString();
  };
  deepEqual([sent({ json: null }), sent({ text: "" }), sent(""), sent({ base64: "" }), sent(null)], [
    "null",
    "",
    "",
    "",
    null,
  ]);
});

function complaint(description: unknown): string {
  let message = "";
  throws(() => parseDescription(description), (error) => {
    message = error instanceof HttpError && error.code === "description_invalid" ? error.message : String(error);
    return true;
  });
  return message;
}
