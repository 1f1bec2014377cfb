import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import fc from "fast-check";
import { encodeLatin1 } from "./field_lines.ts";
import {
  assertAsReference,
  head,
  hosts,
  madeFields,
  MOST_FIELDS,
  mutations,
  parse,
  request,
  soup,
  write,
} from "./_fuzz.ts";
import { readRequest } from "./_reference_request.ts";
import { findHeadEnd, MAX_REQUEST_HEAD, RequestSyntaxError } from "./request_head.ts";

function refusal(text: string): RequestSyntaxError {
  let refused: unknown;
  throws(() => parse(text), (error) => {
    refused = error;
    return error instanceof RequestSyntaxError;
  }, `${JSON.stringify(text)} was taken`);
  return refused as RequestSyntaxError;
}

const get = (line: string, ...fields: string[]) =>
  `${line}\r\n${["Host: a", ...fields].map((f) => `${f}\r\n`).join("")}\r\n`;

Deno.test("a request's head is read to its end, and no further", () => {
  const text = get("POST /a?b HTTP/1.1", "X-One: 1", "x-one:2 \t", "Content-Length: 17");
  deepEqual(parse(`${text}GET /smuggled HTTP/1.1\r\n\r\n`), {
    method: "POST",
    path: "/a?b",
    host: "a",
    minorVersion: 1,
    fields: [["Host", "a"], ["X-One", "1"], ["x-one", "2"], ["Content-Length", "17"]],
    framing: "length",
    length: 17,
    expectation: "none",
    close: false,
    keepAlive: false,
    upgrade: null,
  });
  equal(head.end - head.start, text.length);
  deepEqual([head.values("x-one"), head.values("x"), head.isNamed(1, "x-one")], ["1, 2", null, true]);
});

Deno.test("bytes above 0x7f stay as they are, in the target and in values", () => {
  const reading = parse(get("GET /caf\xe9/\x80\xff HTTP/1.1", "X: \x80\xe9\xff"));
  deepEqual([reading?.path, reading?.fields[1]], ["/caf\xe9/\x80\xff", ["X", "\x80\xe9\xff"]]);
});

const targets: [line: string, target: string, host: string][] = [
  ["GET /", "/", "a"],
  ["GET //x//../%2e?a?b#c", "//x//../%2e?a?b#c", "a"],
  ["GET http://b.test/x?y", "/x?y", "b.test"],
  ["GET HTTPS://b.test:8443", "/", "b.test:8443"],
  ["GET http://b.test?x=/y", "/?x=/y", "b.test"],
  ["GET http://[::1]:80/", "/", "[::1]:80"],
  ["OPTIONS http://b.test/*", "/*", "b.test"],
  ["OPTIONS *", "*", "a"],
  ["OPTIONS /*", "/*", "a"],
];

for (const [line, target, host] of targets) {
  Deno.test(`the target of "${line}" is ${target} on ${host}`, () => {
    const reading = parse(get(`${line} HTTP/1.1`));
    deepEqual([reading?.path, reading?.host], [target, host]);
  });
}

Deno.test("any token is a method", () => {
  for (const method of ["GET", "gEt", "PROPFIND", "M-SEARCH", "!#$%&'*+-.^_`|~", "X", "GETT", "x".repeat(1000)]) {
    equal(parse(get(`${method} / HTTP/1.1`))?.method, method);
  }
});

Deno.test("HTTP/1.0 needs no Host, and none is read from the head before", () => {
  parse(get("GET / HTTP/1.1", "Connection: keep-alive, upgrade", "Upgrade: chat", "Expect: x"));
  deepEqual(parse("GET / HTTP/1.0\r\n\r\n"), {
    method: "GET",
    path: "/",
    host: "",
    minorVersion: 0,
    fields: [],
    framing: "none",
    length: 0,
    expectation: "none",
    close: false,
    keepAlive: false,
    upgrade: null,
  });
  equal(parse("GET http://b/ HTTP/1.0\r\n\r\n")?.host, "b");
  equal(parse("GET / HTTP/1.0\r\nHost: c\r\n\r\n")?.host, "c");
});

Deno.test("a Host is a name or an address, with a port or without", () => {
  for (const host of hosts) equal(parse(`GET / HTTP/1.1\r\nHost: \t${host} \r\n\r\n`)?.host, host);
});

Deno.test("what Connection, Expect and Upgrade ask for", () => {
  const ask = (...fields: string[]) => parse(get("GET / HTTP/1.1", ...fields))!;
  deepEqual([ask("Connection: close").close, ask("connection: x, CLOSE ,y").close], [true, true]);
  deepEqual([ask("Connection: keep-alive").keepAlive, ask("Connection: closed").close], [true, false]);
  deepEqual([ask("Expect: 100-Continue ").expectation, ask("Expect: 100").expectation], ["continue", "unknown"]);
  equal(ask("Expect: 100-continue", "Expect: y").expectation, "unknown");
  equal(ask("Expect: y", "Expect: 100-continue").expectation, "unknown");
  equal(ask("Connection: keep-alive", "Connection: Upgrade", "Upgrade: chat/2").upgrade, "chat/2");
  for (const fields of [["Upgrade: x"], ["Connection: upgrade"], ["Connection: upgrade", "Upgrade: x, H2C"]]) {
    equal(ask(...fields).upgrade, null);
  }
  equal(parse("GET / HTTP/1.0\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")?.upgrade, null);
});

Deno.test("a length is digits, and chunked stands alone", () => {
  const ask = (...fields: string[]) => parse(get("GET / HTTP/1.1", ...fields))!;
  deepEqual([ask("Content-Length: 0").framing, ask("content-length:\t007").length], ["none", 7]);
  equal(ask("Content-Length: 999999999999999").length, 999_999_999_999_999);
  equal(ask("Transfer-Encoding: Chunked ").framing, "chunked");
});

const refused: [name: string, text: string, status: number][] = [
  ["nothing before the target", " / HTTP/1.1\r\nHost: a\r\n\r\n", 400],
  ["an empty line first", "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400],
  ["two spaces before the target", get("GET  / HTTP/1.1"), 400],
  ["two spaces behind the target", get("GET /  HTTP/1.1"), 400],
  ["a tab for a space", get("GET\t/ HTTP/1.1"), 400],
  ["a space behind the version", get("GET / HTTP/1.1 "), 400],
  ["a space in the target", get("GET /a b HTTP/1.1"), 400],
  ["NUL in the target", get("GET /a\0b HTTP/1.1"), 400],
  ["DEL in the target", get("GET /\x7f HTTP/1.1"), 400],
  ["a method that is no token", get("GE(T / HTTP/1.1"), 400],
  ["a method above 0x7f", get("G\xc9T / HTTP/1.1"), 400],
  ["no target", get("GET HTTP/1.1"), 400],
  ["no version", "GET /\r\nHost: a\r\n\r\n", 400],
  ["HTTP/1.2", get("GET / HTTP/1.2"), 505],
  ["HTTP/2.0", get("GET / HTTP/2.0"), 505],
  ["HTTP/0.9", get("GET / HTTP/0.9"), 505],
  ["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505],
  ["http/1.1", get("GET / http/1.1"), 400],
  ["HTTP/1,1", get("GET / HTTP/1,1"), 505],
  ["HTTP/1.10", get("GET / HTTP/1.10"), 400],
  ["a line that ends with LF", "GET / HTTP/1.1\nHost: a\n\n", 400],
  ["a line that ends with CR", "GET / HTTP/1.1\rHost: a\r\r", 400],
  ["CONNECT to an authority", get("CONNECT b:443 HTTP/1.1"), 400],
  ["CONNECT to a path", get("CONNECT /a HTTP/1.1"), 400],
  ["CONNECT to the whole server", get("CONNECT * HTTP/1.1"), 400],
  ["CONNECT to a URL", get("CONNECT http://b/ HTTP/1.1"), 400],
  ["an authority as target", get("GET b:80 HTTP/1.1"), 400],
  ["a relative path", get("GET x HTTP/1.1"), 400],
  ["a star for GET", get("GET * HTTP/1.1"), 400],
  ["two stars", get("OPTIONS ** HTTP/1.1"), 400],
  ["another scheme", get("GET ftp://b/ HTTP/1.1"), 400],
  ["a scheme without slashes", get("GET http:b HTTP/1.1"), 400],
  ["a URL without host", get("GET http:///x HTTP/1.1"), 400],
  ["a URL with credentials", get("GET http://u@b/ HTTP/1.1"), 400],
  ["a URL with a backslash", get("GET http://b\\@c/ HTTP/1.1"), 400],
  ["a URL with a port that is none", get("GET http://b:x/ HTTP/1.1"), 400],
  ["a URL beside a malformed Host", "GET http://b/ HTTP/1.1\r\nHost: a b\r\n\r\n", 400],
  ["a URL without Host in HTTP/1.1", "GET http://b/ HTTP/1.1\r\n\r\n", 400],
  ["no Host", "GET / HTTP/1.1\r\n\r\n", 400],
  ["two Hosts", get("GET / HTTP/1.1", "host: a"), 400],
  ["an empty Host", "GET / HTTP/1.1\r\nHost: \r\n\r\n", 400],
  ["a Host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400],
  ["a Host with credentials", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", 400],
  ["a Host that is a list", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400],
  ["a Host above 0x7f", "GET / HTTP/1.1\r\nHost: b\xfccher\r\n\r\n", 400],
  ["a Host with an open bracket", "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", 400],
  ["a Host with two ports", "GET / HTTP/1.1\r\nHost: a:1:2\r\n\r\n", 400],
  ["an empty field name", get("GET / HTTP/1.1", ": x"), 400],
  ["a space before the colon", get("GET / HTTP/1.1", "X : y"), 400],
  ["a space in a name", get("GET / HTTP/1.1", "X Y: z"), 400],
  ["a name above 0x7f", get("GET / HTTP/1.1", "\xd6: z"), 400],
  ["a name in quotes", get("GET / HTTP/1.1", '"X": z'), 400],
  ["a line without colon", get("GET / HTTP/1.1", "X"), 400],
  ["a folded line", get("GET / HTTP/1.1", "X: a", " b"), 400],
  ["a line folded by a tab", get("GET / HTTP/1.1", "X: a", "\tb"), 400],
  ["a folded first line", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400],
  ["NUL in a value", get("GET / HTTP/1.1", "X: a\0b"), 400],
  ["a bare CR in a value", get("GET / HTTP/1.1", "X: a\rb"), 400],
  ["a bare LF in a value", get("GET / HTTP/1.1", "X: a\nb: c"), 400],
  ["DEL in a value", get("GET / HTTP/1.1", "X: \x7f"), 400],
  ["two CR before LF", get("GET / HTTP/1.1", "X: a\r"), 400],
  ["a CR on the blank line", "GET / HTTP/1.1\r\nHost: a\r\n\rX", 400],
  ["two lengths", get("GET / HTTP/1.1", "Content-Length: 5", "Content-Length: 5"), 400],
  ["a list of lengths", get("GET / HTTP/1.1", "Content-Length: 5, 5"), 400],
  ["a length with a sign", get("GET / HTTP/1.1", "Content-Length: +5"), 400],
  ["a length in hex", get("GET / HTTP/1.1", "Content-Length: 0x5"), 400],
  ["an empty length", get("GET / HTTP/1.1", "Content-Length: "), 400],
  ["a length of 16 digits", get("GET / HTTP/1.1", "Content-Length: 1000000000000000"), 400],
  ["a length beside chunked", get("GET / HTTP/1.1", "Content-Length: 0", "Transfer-Encoding: chunked"), 400],
  ["chunked beside a length", get("GET / HTTP/1.1", "Transfer-Encoding: chunked", "Content-Length: 5"), 400],
  ["chunked twice", get("GET / HTTP/1.1", "Transfer-Encoding: chunked", "transfer-encoding: chunked"), 400],
  ["a list of codings", get("GET / HTTP/1.1", "Transfer-Encoding: gzip, chunked"), 400],
  ["identity", get("GET / HTTP/1.1", "Transfer-Encoding: identity"), 400],
  ["an empty coding", get("GET / HTTP/1.1", "Transfer-Encoding:"), 400],
  ["chunked in HTTP/1.0", "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400],
  ["two upgrades", get("GET / HTTP/1.1", "Upgrade: a", "Upgrade: b"), 400],
  ["251 fields", get("GET / HTTP/1.1", ...new Array(250).fill("a: b")), 431],
  ["10,000 fields", get("GET / HTTP/1.1", ...new Array(9_999).fill("a: b")), 431],
];

for (const [name, text, status] of refused) {
  Deno.test(`a head with ${name} is refused with ${status}`, () => {
    const error = refusal(text);
    equal(error.status, status);
    match(error.message, /^[\x20-\x7e\xa0-\xff]{1,200}$/, "one line, fit to be shown");
  });
}

Deno.test("250 fields are taken", () => {
  equal(parse(get("GET / HTTP/1.1", ...new Array(249).fill("a: b")))?.fields.length, 250);
});

for (const size of [32_767, 32_768, 32_769, MAX_REQUEST_HEAD - 1, MAX_REQUEST_HEAD]) {
  Deno.test(`a head of ${size} bytes is read whole`, () => {
    const [before, after] = ["GET / HTTP/1.1\r\nHost: a\r\nX: ", "\r\nLast: z\r\n\r\n"];
    const text = before + "x".repeat(size - before.length - after.length) + after;
    equal(text.length, size);
    deepEqual(parse(text)?.fields.at(-1), ["Last", "z"]);
    equal(head.end - head.start, size);
  });
}

Deno.test("a head of one byte more than can be counted is never whole", () => {
  equal(parse(`GET / HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(MAX_REQUEST_HEAD)}\r\n\r\n`), null);
});

Deno.test("random heads are read as what they were made of", () => {
  fc.assert(
    fc.property(request, (made) => {
      const reading = parse(write(made));
      ok(reading !== null);
      deepEqual([reading.method, reading.path, reading.host], [made.method, made.path, made.authority ?? made.host]);
      deepEqual(reading.fields, madeFields(made));
      const [, length] = made.framing ?? [];
      equal(
        reading.framing,
        length === undefined || length === "0" ? "none" : /\d/.test(length) ? "length" : "chunked",
      );
      deepEqual(reading, readRequest(write(made), MOST_FIELDS), "the reference reads another");
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("a mutated head is read as the reference reads it, or refused as the reference refuses it", () => {
  fc.assert(
    fc.property(request.map(write), mutations(), (text, mutate) => assertAsReference(mutate(text))),
    { numRuns: 5_000 },
  );
});

Deno.test("bytes at random are read as the reference reads them", () => {
  fc.assert(fc.property(soup, assertAsReference), { numRuns: 5_000 });
});

Deno.test("a head that comes in pieces is never refused before it breaks, nor taken before its end", () => {
  fc.assert(
    fc.property(request.map(write), fc.nat(), (text, cut) => {
      equal(parse(text.slice(0, cut % text.length)), null);
    }),
    { numRuns: 2_000 },
  );
});

/** The offset behind the first blank line, or -1; null where a line ends without CR before that. */
function findEndSlowly(text: string): number | null {
  for (let at = 0; at < text.length; at++) {
    if (text[at] !== "\n") continue;
    if (text[at - 1] !== "\r") return null;
    if (text.slice(0, at + 1).endsWith("\r\n\r\n")) return at + 1;
  }
  return -1;
}

Deno.test("findHeadEnd finds the blank line in whatever pieces the head comes", () => {
  const texts = fc.oneof(
    request.map(write),
    fc.tuple(request.map(write), mutations()).map(([text, mutate]) => mutate(text)),
    fc.array(fc.constantFrom("a", "\r", "\n", "\r\n"), { maxLength: 12 }).map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(texts, fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 40 }), (text, sizes) => {
      const bytes = encodeLatin1(`\n\n..${text}`);
      let found: number | null = -1;
      try {
        for (let from = 4, index = 0; found === -1 && from < bytes.length; index++) {
          const end = Math.min(bytes.length, from + (sizes[index] ?? bytes.length));
          found = findHeadEnd(bytes, 4, from, end);
          from = end;
        }
      } catch (error) {
        ok(error instanceof RequestSyntaxError);
        found = null;
      }
      equal(found === null || found < 0 ? found : found - 4, findEndSlowly(text));
    }),
    { numRuns: 5_000 },
  );
});

Deno.test("findHeadEnd looks at each byte once, however the head comes", () => {
  const text = get("GET / HTTP/1.1", `X: ${"x".repeat(30_000)}`, ...new Array(200).fill("Y: z"));
  const bytes = encodeLatin1(text);
  let found = -1;
  for (let at = 0; found < 0; at++) {
    found = findHeadEnd(bytes, 0, at, at + 1);
    // A line that ends here without CR would be noticed by whoever looked again.
    if (at >= 3) bytes[at - 3] = 0x0a;
  }
  equal(found, text.length);
});
