import assert from "node:assert/strict";
import fc from "fast-check";
import { RequestHead, RequestSyntaxError } from "../../net/http1/mod.ts";
import { readRequestHead } from "./session.ts";

const latin1 = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
const scan = (text: string) => {
  const head = new RequestHead();
  readRequestHead(head, latin1(text), 0, text.length);
  return head;
};
const head = (...fields: string[]) => ["GET / HTTP/1.1", "host: a.example", ...fields].join("\r\n") + "\r\n\r\n";

Deno.test("readRequestHead finds a head wherever it lies in a frame", () => {
  const text = "POST /a?b=c HTTP/1.1\r\nHost: x.example\r\nContent-Length: 5\r\n\r\n";
  const read = new RequestHead();
  readRequestHead(read, latin1(`???${text}more`), 3, 3 + text.length);
  assert.deepEqual([read.method, read.path, read.hasLength, read.length], ["POST", "/a?b=c", true, 5]);
  assert.deepEqual([read.fieldsStart, read.valueEnd(0) + 2], [3 + text.indexOf("Host"), 3 + text.indexOf("Content")]);
});

Deno.test("readRequestHead reads what the fields say of the body, each time anew", () => {
  const read = new RequestHead();
  for (
    const [fields, expected] of [
      ["", [false, 0, "none"]],
      ["content-length: 0", [true, 0, "none"]],
      ["content-length: 7", [true, 7, "length"]],
      ["Transfer-Encoding: Chunked ", [false, 0, "chunked"]],
      ["x: y", [false, 0, "none"]],
    ] as const
  ) {
    const text = head(...(fields === "" ? [] : [fields]));
    readRequestHead(read, latin1(text), 0, text.length);
    assert.deepEqual([read.hasLength, read.length, read.framing], expected);
  }
});

Deno.test("readRequestHead keeps any method and any byte of a target", () => {
  for (const method of ["GET", "HEAD", "OPTIONS", "get", "GETX", "M-SEARCH", "!#$%&'*+-.^_`|~09"]) {
    assert.equal(scan(`${method} /\xe9%00[]|"\\\x80\xff#? HTTP/1.1\r\nhost: a\r\n\r\n`).method, method);
  }
  const target = "/" +
    String.fromCharCode(...Array.from({ length: 0xff - 0x20 }, (_, at) => at + 0x21)).replace("\x7f", "");
  assert.equal(scan(`GET ${target} HTTP/1.1\r\nhost: a\r\n\r\n`).path, target);
  const long = "/" + "\xe9".repeat(50_000);
  assert.equal(scan(`GET ${long} HTTP/1.1\r\nhost: a\r\n\r\n`).path, long);
  assert.equal(scan("OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n").path, "*");
});

Deno.test("readRequestHead refuses more fields than anybody sends", () => {
  const fields = (count: number) => Array.from({ length: count }, () => "a: b");
  scan(head(...fields(255)));
  assert.throws(() => scan(head(...fields(256))), /too many header fields/);
});

const start = (line: string) => `${line}\r\nhost: a\r\n\r\n`;
const REFUSED: [what: string, text: string][] = [
  ["nothing", ""],
  ["an empty method", start(" / HTTP/1.1")],
  ["a method that is no token", start("G(T / HTTP/1.1")],
  ["a method in Latin-1", start("G\xe9T / HTTP/1.1")],
  ["a blank line first", start("\r\nGET / HTTP/1.1")],
  ["an empty target", start("GET  HTTP/1.1")],
  ["a target with a space", start("GET /a b HTTP/1.1")],
  ["a target with a tab", start("GET /a\tb HTTP/1.1")],
  ["a target with NUL", start("GET /a\0b HTTP/1.1")],
  ["a target with DEL", start("GET /a\x7f HTTP/1.1")],
  ["a target with a bare CR", start("GET /a\rb HTTP/1.1")],
  ["a second request line in the target", start("GET / HTTP/1.1\nGET /b HTTP/1.1")],
  ["HTTP/1.0", start("GET / HTTP/1.0")],
  ["a target that names its host", start("GET http://b/ HTTP/1.1")],
  ["a target that is no path", start("GET b HTTP/1.1")],
  ["no version", start("GET /")],
  ["two spaces before the version", start("GET /  HTTP/1.1")],
  ["a space after the version", start("GET / HTTP/1.1 ")],
  ["no host", "GET / HTTP/1.1\r\n\r\n"],
  ["a host that is not first", "GET / HTTP/1.1\r\na: b\r\nhost: a\r\n\r\n"],
  ["a second host", head("X: y", "HOST: b")],
  ["a folded host", "GET / HTTP/1.1\r\nhost: a\r\n b\r\n\r\n"],
  ["a folded line", head("X: y", "\tz")],
  ["space before the colon", head("Content-Length : 5")],
  ["a bare LF", head("X: y\nContent-Length: 5")],
  ["a bare CR", head("X: y\rContent-Length: 5")],
  ["NUL in a value", head("X: \0")],
  ["a length beside chunks", head("Content-Length: 5", "Transfer-Encoding: chunked")],
  ["two equal lengths", head("Content-Length: 5", "Content-Length: 5")],
  ["two lengths in a list", head("Content-Length: 5, 6")],
  ["a bad length", head("Content-Length: +5")],
  ["two encodings", head("Transfer-Encoding: chunked", "Transfer-Encoding: identity")],
  ["an encoding that is not chunked", head("Transfer-Encoding: xchunked")],
  ["no blank line", head().slice(0, -2)],
  ["half a blank line", head().slice(0, -1)],
  ["a cut host line", "GET / HTTP/1.1\r\nhost: a"],
  ["a second request", head() + head()],
];

for (const [what, text] of REFUSED) {
  Deno.test(`readRequestHead refuses ${what}`, () => {
    assert.throws(() => scan(text), RequestSyntaxError);
  });
}

Deno.test("readRequestHead refuses every beginning of a good head", () => {
  const text = head("Content-Length: 5", "X: y");
  for (let end = 0; end < text.length; end++) assert.throws(() => scan(text.slice(0, end)), RequestSyntaxError);
});

Deno.test("readRequestHead gives random bytes a result or a RequestSyntaxError", () => {
  const piece = fc.oneof(
    fc.constantFrom("GET / HTTP/1.1\r\n", "host: a\r\n", "\r\n", "\r", "\n", "Content-Length: 5\r\n", ": ", " ", "\0"),
    fc.string(),
  );
  const bytes = fc.oneof(fc.uint8Array(), fc.array(piece).map((list) => latin1(list.join(""))));
  fc.assert(
    fc.property(bytes, (bytes) => {
      try {
        const read = new RequestHead();
        readRequestHead(read, bytes, 0, bytes.length);
        assert(read.fieldsStart < read.valueEnd(0) && read.valueEnd(0) + 4 <= bytes.length);
      } catch (error) {
        assert(error instanceof RequestSyntaxError, String(error));
      }
    }),
    { numRuns: 3000 },
  );
});
