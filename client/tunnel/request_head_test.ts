import assert from "node:assert/strict";
import fc from "fast-check";
import { RequestSyntaxError, scanRequestHead } from "./request_head.ts";

const latin1 = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
const scan = (text: string) => scanRequestHead(latin1(text), 0, text.length);
const head = (...fields: string[]) => ["GET / HTTP/1.1", "host: a.example", ...fields].join("\r\n") + "\r\n\r\n";

Deno.test("scanRequestHead tells the offsets of the request line and the host line", () => {
  const text = "POST /a?b=c HTTP/1.1\r\nHost: x.example\r\nContent-Length: 5\r\n\r\n";
  const scanned = scanRequestHead(latin1(`???${text}more`), 3, 3 + text.length);
  assert.equal(scanned.method, "POST");
  assert.equal(scanned.target, "/a?b=c");
  assert.equal(scanned.lineEnd, 3 + text.indexOf("Host"));
  assert.equal(scanned.hostEnd, 3 + text.indexOf("Content"));
  assert.equal(scanned.contentLength, 5);
  assert.equal(scanned.hasTransferEncoding, false);
});

Deno.test("scanRequestHead reads what the fields say of the body", () => {
  assert.equal(scan(head()).contentLength, -1);
  assert.equal(scan(head("content-length: 0")).contentLength, 0);
  assert.equal(scan(head("Transfer-Encoding: Chunked ")).hasTransferEncoding, true);
});

Deno.test("scanRequestHead keeps any method and any byte of a target", () => {
  for (const method of ["GET", "HEAD", "OPTIONS", "get", "GETX", "M-SEARCH", "!#$%&'*+-.^_`|~09"]) {
    assert.equal(scan(`${method} /\xe9%00[]|"\\\x80\xff#? HTTP/1.1\r\nhost:\r\n\r\n`).method, method);
  }
  const target = "/" +
    String.fromCharCode(...Array.from({ length: 0xff - 0x20 }, (_, at) => at + 0x21)).replace("\x7f", "");
  assert.equal(scan(`GET ${target} HTTP/1.1\r\nhost: a\r\n\r\n`).target, target);
  const long = "/" + "\xe9".repeat(50_000);
  assert.equal(scan(`GET ${long} HTTP/1.1\r\nhost: a\r\n\r\n`).target, long);
  assert.equal(scan("OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n").target, "*");
});

Deno.test("scanRequestHead tells where the fields lie that name the public URL", () => {
  const text = head("Origin:  https://a.example ", "REFERER: x", "x-forwarded-host: a", "X-Forwarded-Proto: https");
  const scanned = scan(text);
  const values = [scanned.host, scanned.origin, scanned.referer, scanned.forwardedHost, scanned.forwardedProto]
    .map((value) => value === null ? null : text.slice(value.start, value.end));
  assert.deepEqual(values, ["a.example", "https://a.example", "x", "a", "https"]);
  const { origin, referer, forwardedHost, forwardedProto } = scan(head());
  assert.deepEqual([origin, referer, forwardedHost, forwardedProto], [null, null, null, null]);
});

Deno.test("scanRequestHead refuses more fields than anybody sends", () => {
  const fields = (count: number) => Array.from({ length: count }, () => "a: b");
  scan(head(...fields(255)));
  assert.throws(() => scan(head(...fields(256))), /more than 256 fields/);
});

const start = (line: string) => `${line}\r\nhost: a\r\n\r\n`;
const REFUSED: [what: string, text: string, why: RegExp][] = [
  ["nothing", "", /method/],
  ["an empty method", start(" / HTTP/1.1"), /method/],
  ["a method that is no token", start("G(T / HTTP/1.1"), /method/],
  ["a method in Latin-1", start("G\xe9T / HTTP/1.1"), /method/],
  ["a blank line first", start("\r\nGET / HTTP/1.1"), /method/],
  ["an empty target", start("GET  HTTP/1.1"), /target/],
  ["a target with a space", start("GET /a b HTTP/1.1"), /version/],
  ["a target with a tab", start("GET /a\tb HTTP/1.1"), /version/],
  ["a target with NUL", start("GET /a\0b HTTP/1.1"), /version/],
  ["a target with DEL", start("GET /a\x7f HTTP/1.1"), /version/],
  ["a target with a bare CR", start("GET /a\rb HTTP/1.1"), /version/],
  ["a second request line in the target", start("GET / HTTP/1.1\nGET /b HTTP/1.1"), /version/],
  ["HTTP/1.0", start("GET / HTTP/1.0"), /version/],
  ["no version", start("GET /"), /version/],
  ["two spaces before the version", start("GET /  HTTP/1.1"), /version/],
  ["a space after the version", start("GET / HTTP/1.1 "), /version/],
  ["no host", "GET / HTTP/1.1\r\n\r\n", /0x0d|a field line starts/],
  ["a host that is not first", "GET / HTTP/1.1\r\na: b\r\nhost: a\r\n\r\n", /not the host/],
  ["a second host", head("X: y", "HOST: b"), /two hosts/],
  ["a folded host", "GET / HTTP/1.1\r\nhost: a\r\n b\r\n\r\n", /folding/],
  ["a folded line", head("X: y", "\tz"), /folding/],
  ["space before the colon", head("Content-Length : 5"), /field name/],
  ["a bare LF", head("X: y\nContent-Length: 5"), /bare LF/],
  ["a bare CR", head("X: y\rContent-Length: 5"), /bare CR/],
  ["NUL in a value", head("X: \0"), /0x00/],
  ["a length beside chunks", head("Content-Length: 5", "Transfer-Encoding: chunked"), /both/],
  ["two equal lengths", head("Content-Length: 5", "Content-Length: 5"), /two lengths/],
  ["two lengths in a list", head("Content-Length: 5, 6"), /two lengths/],
  ["a bad length", head("Content-Length: +5"), /"\+5"/],
  ["two encodings", head("Transfer-Encoding: chunked", "Transfer-Encoding: identity"), /alone/],
  ["an encoding that is not chunked", head("Transfer-Encoding: xchunked"), /alone/],
  ["no blank line", head().slice(0, -2), /cut short/],
  ["half a blank line", head().slice(0, -1), /cut short/],
  ["a cut host line", "GET / HTTP/1.1\r\nhost: a", /cut short/],
  ["a second request", head() + head(), /bytes after the blank line/],
];

for (const [what, text, why] of REFUSED) {
  Deno.test(`scanRequestHead refuses ${what}`, () => {
    assert.throws(() => scan(text), (error: unknown) => {
      assert(error instanceof RequestSyntaxError, String(error));
      assert.match(error.message, why);
      return true;
    });
  });
}

Deno.test("scanRequestHead refuses every beginning of a good head", () => {
  const text = head("Content-Length: 5", "X: y");
  for (let end = 0; end < text.length; end++) assert.throws(() => scan(text.slice(0, end)), RequestSyntaxError);
});

Deno.test("scanRequestHead gives random bytes a result or a RequestSyntaxError", () => {
  const piece = fc.oneof(
    fc.constantFrom("GET / HTTP/1.1\r\n", "host: a\r\n", "\r\n", "\r", "\n", "Content-Length: 5\r\n", ": ", " ", "\0"),
    fc.string(),
  );
  const bytes = fc.oneof(fc.uint8Array(), fc.array(piece).map((list) => latin1(list.join(""))));
  fc.assert(
    fc.property(bytes, (bytes) => {
      try {
        const scanned = scanRequestHead(bytes, 0, bytes.length);
        assert(scanned.lineEnd < scanned.hostEnd && scanned.hostEnd + 2 <= bytes.length);
      } catch (error) {
        assert(error instanceof RequestSyntaxError, String(error));
      }
    }),
    { numRuns: 3000 },
  );
});
