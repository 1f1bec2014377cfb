import assert from "node:assert/strict";
import fc from "fast-check";
import { MAX_RESPONSE_HEAD, parseResponseHead, type ResponseHead, ResponseSyntaxError } from "./response_head.ts";

const GET = { method: "GET", upgrade: false };
const HEAD = { method: "HEAD", upgrade: false };
const CONNECT = { method: "CONNECT", upgrade: false };
const UPGRADE = { method: "GET", upgrade: true };

const latin1 = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
const read = (text: string, request = GET) => {
  const bytes = latin1(text);
  return parseResponseHead(bytes, 0, bytes.length, request);
};

function readWhole(text: string, request = GET): ResponseHead {
  const head = read(text, request);
  assert(head !== null, `incomplete: ${JSON.stringify(text)}`);
  return head;
}

/** A head of its lines. */
const lines = (...list: string[]) => list.join("\r\n") + "\r\n\r\n";
const ok = (...fields: string[]) => lines("HTTP/1.1 200 OK", ...fields);

type Expected = Partial<ResponseHead>;
const ACCEPTED: [what: string, text: string, expected: Expected, request?: typeof GET][] = [
  ["a length", ok("Content-Length: 5"), { status: 200, framing: "length", length: 5, keepAlive: true }],
  ["a length of zero", ok("Content-Length: 0"), { framing: "length", length: 0, keepAlive: true }],
  ["the largest length", ok("Content-Length: 9007199254740991"), { length: Number.MAX_SAFE_INTEGER }],
  ["zeros before a length", ok("content-length:0005"), { length: 5 }],
  ["space around a length", ok("CONTENT-LENGTH: \t 5 \t"), { length: 5 }],
  ["white space before a colon", ok("Content-Length \t: 5", "X-A : b"), { framing: "length", length: 5 }],
  ["chunked", ok("Transfer-Encoding: chunked"), { framing: "chunked", length: 0, keepAlive: true }],
  ["chunked in capitals", ok("TRANSFER-ENCODING:  ChunkeD "), { framing: "chunked" }],
  ["no length at all", ok(), { framing: "close", keepAlive: false }],
  ["an empty value", ok("X-Empty:", "Content-Length: 1"), { length: 1 }],
  ["bytes from 0x80 to 0xff", ok("X-Name: \x80\xe9\xff", "Content-Length: 1"), { length: 1 }],
  ["a tab inside a value", ok("X-Name: a\tb", "Content-Length: 1"), { length: 1 }],
  ["all token characters", ok("!#$%&'*+-.^_`|~09azAZ: x", "Content-Length: 1"), { length: 1 }],
  ["names like the ones that count", ok("Content_Length: 9", "content-lengtj: 8", "X: 1"), { framing: "close" }],

  ["an empty reason", lines("HTTP/1.1 200 ", "Content-Length: 1"), { status: 200, length: 1 }],
  ["no space before the missing reason", lines("HTTP/1.1 404", "Content-Length: 1"), { status: 404 }],
  ["a reason in Latin-1", lines("HTTP/1.1 404 Non trouv\xe9", "Content-Length: 1"), { status: 404 }],
  ["the least status", lines("HTTP/1.1 100 Continue"), { status: 100 }],
  ["the greatest status", lines("HTTP/1.1 599 x"), { status: 599 }],

  ["an answer to HEAD with a length", ok("Content-Length: 5"), { framing: "none", length: 0, keepAlive: true }, HEAD],
  ["an answer to HEAD with chunks", ok("Transfer-Encoding: chunked"), { framing: "none", keepAlive: true }, HEAD],
  ["an answer to HEAD without length", ok(), { framing: "none", keepAlive: true }, HEAD],
  ["204", lines("HTTP/1.1 204 No Content"), { framing: "none", keepAlive: true }],
  ["204 with length 0", lines("HTTP/1.1 204 x", "Content-Length: 0"), { framing: "none", keepAlive: true }],
  ["204 that announces a body", lines("HTTP/1.1 204 x", "Content-Length: 5"), { framing: "none", keepAlive: false }],
  ["204 with chunks", lines("HTTP/1.1 204 x", "Transfer-Encoding: chunked"), { framing: "none", keepAlive: false }],
  ["304 with the length of the 200", lines("HTTP/1.1 304 x", "Content-Length: 5"), {
    framing: "none",
    keepAlive: true,
  }],
  ["205 is nothing special", lines("HTTP/1.1 205 x", "Content-Length: 0"), { framing: "length", keepAlive: true }],

  ["100", lines("HTTP/1.1 100 Continue"), { informational: true, framing: "none" }],
  ["103 with fields", lines("HTTP/1.1 103 Early Hints", "Link: </a>"), { informational: true, framing: "none" }],
  ["200 is not informational", ok("Content-Length: 1"), { informational: false }],
  ["101 that was asked for", lines("HTTP/1.1 101 x", "Upgrade: websocket", "Connection: Upgrade"), {
    framing: "upgrade",
    informational: false,
    keepAlive: false,
  }, UPGRADE],
  ["an upgrade refused", lines("HTTP/1.1 403 x", "Content-Length: 2"), {
    framing: "length",
    length: 2,
    keepAlive: true,
  }, UPGRADE],
  ["CONNECT that worked", ok("Content-Length: 5"), { framing: "upgrade", keepAlive: false }, CONNECT],
  ["CONNECT that did not", lines("HTTP/1.1 407 x", "Content-Length: 5"), { framing: "length" }, CONNECT],

  ["Connection: close", ok("Content-Length: 1", "Connection: close"), { keepAlive: false }],
  ["close in a list", ok("Content-Length: 1", "Connection: x , CLOSE,, y"), { keepAlive: false }],
  ["close on a second line", ok("Content-Length: 1", "Connection: keep-alive", "Connection: close"), {
    keepAlive: false,
  }],
  ["a word that holds close", ok("Content-Length: 1", "Connection: closed, foreclose"), { keepAlive: true }],
  ["HTTP/1.0", lines("HTTP/1.0 200 OK", "Content-Length: 1"), { framing: "length", keepAlive: false }],
  ["HTTP/1.0 with keep-alive", lines("HTTP/1.0 200 OK", "Content-Length: 1", "Connection: Keep-Alive"), {
    keepAlive: true,
  }],
  [
    "HTTP/1.0 with keep-alive and close",
    lines("HTTP/1.0 200 OK", "Content-Length: 1", "Connection: keep-alive, close"),
    { keepAlive: false },
  ],
  [
    "HTTP/1.0 with chunks",
    lines("HTTP/1.0 200 OK", "Transfer-Encoding: chunked", "Connection: keep-alive"),
    { framing: "chunked", keepAlive: false },
  ],
];

for (const [what, text, expected, request] of ACCEPTED) {
  Deno.test(`parseResponseHead reads ${what}`, () => {
    const head = readWhole(text, request);
    assert.equal(head.end, text.length);
    for (const key of Object.keys(expected) as (keyof ResponseHead)[]) assert.equal(head[key], expected[key], key);
  });
}

const REFUSED: [what: string, text: string, why: RegExp, request?: typeof GET][] = [
  ["a negative length", ok("Content-Length: -5"), /"-5" is not a whole number/],
  ["a length with a sign", ok("Content-Length: +5"), /"\+5"/],
  ["a hexadecimal length", ok("Content-Length: 0x5"), /"0x5"/],
  ["a length with a point", ok("Content-Length: 5.0"), /"5\.0"/],
  ["an empty length", ok("Content-Length:"), /the length ""/],
  ["a length of white space", ok("Content-Length: \t "), /the length ""/],
  ["a length above 2^53-1", ok("Content-Length: 9007199254740992"), /2\^53-1/],
  ["a length without bound", ok(`Content-Length: ${"9".repeat(5000)}`), /2\^53-1/],
  ["two lengths on two lines", ok("Content-Length: 5", "Content-Length: 6"), /two Content-Length/],
  ["the same length twice", ok("Content-Length: 5", "Content-Length: 5"), /two Content-Length/],
  ["a list of equal lengths", ok("Content-Length: 5, 5"), /the length "5, 5"/],
  ["two lengths on one line", ok("Content-Length: 5, 6"), /the length "5, 6"/],
  ["a list that ends with a comma", ok("Content-Length: 5,"), /the length "5,"/],
  ["digits with a gap", ok("Content-Length: 5 5"), /"5 5"/],
  ["a bad length in an answer to HEAD", ok("Content-Length: x"), /"x"/, HEAD],

  ["a length beside chunks", ok("Content-Length: 5", "Transfer-Encoding: chunked"), /both/],
  ["chunks beside a length", ok("Transfer-Encoding: chunked", "Content-Length: 5"), /both/],
  ["both in an answer to HEAD", ok("Transfer-Encoding: chunked", "Content-Length: 5"), /both/, HEAD],
  ["chunked twice", ok("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), /alone/],
  ["chunked twice in a list", ok("Transfer-Encoding: chunked, chunked"), /alone/],
  ["another encoding", ok("Transfer-Encoding: gzip"), /"gzip"/],
  ["another encoding before chunked", ok("Transfer-Encoding: gzip, chunked"), /alone/],
  ["identity", ok("Transfer-Encoding: identity"), /identity/],
  ["an empty encoding", ok("Transfer-Encoding:"), /alone/],
  ["chunked with a control byte", ok("Transfer-Encoding: \x0bchunked"), /byte 0x0b/],
  ["a word that starts with chunked", ok("Transfer-Encoding: chunkedx"), /alone/],

  ["a folded line", ok("X-A: 1", " 2"), /line folding/],
  ["a folded line with a tab", ok("X-A: 1", "\t2"), /line folding/],
  ["a folded first line", ok(" X-A: 1"), /line folding/],
  ["a space inside a name", ok("Content Length: 5"), /a space in the field name "Content"/],
  ["white space before a missing name", ok(" : 5"), /line folding/],
  ["an empty name", ok(": 5"), /name is empty/],
  ["a line without colon", ok("nothing"), /0x0d in the field name/],
  ["a name with a slash", ok("X/A: 5"), /"\/" in the field name "X"/],
  ["a name in Latin-1", ok("X\xe9: 5"), /byte 0xe9/],
  ["a bare CR in a value", ok("X-A: 1\rX-B: 2"), /bare CR/],
  ["a bare LF in a value", ok("X-A: 1\nX-B: 2"), /bare LF/],
  ["two CR", ok("X-A: 1\r"), /bare CR/],
  ["a bare CR for a blank line", "HTTP/1.1 200 OK\r\n\rX", /bare CR/],
  ["lines that end with LF", "HTTP/1.1 200 OK\nContent-Length: 1\n\n", /bare LF/],
  ["NUL in a value", ok("X-A: a\0b"), /byte 0x00/],
  ["DEL in a value", ok("X-A: a\x7fb"), /byte 0x7f/],
  ["ESC in a value", ok("X-A: \x1b[2J"), /byte 0x1b/],
  ["NUL in a reason", lines("HTTP/1.1 200 O\0K"), /byte 0x00/],

  ["HTTP/0.9", "<html>hello</html>", /but with "<html>/],
  ["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", /HTTP\/1\.1 status line/],
  ["a SETTINGS frame", "\0\0\x12\x04\0\0\0\0\0", /speaks HTTP\/2 only/],
  ["a GOAWAY frame", "\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x0d", /speaks HTTP\/2 only/],
  ["zeros", "\0\0\0\0\0\0\0\0\0", /HTTP\/1\.1 status line/],
  ["HTTP/2.0", lines("HTTP/2.0 200 OK"), /HTTP\/1\.1 status line/],
  ["HTTP/1.2", lines("HTTP/1.2 200 OK"), /HTTP\/1\.1 status line/],
  ["HTTP/1.11", lines("HTTP/1.11 200 OK"), /HTTP\/1\.1 status line/],
  ["http in small letters", lines("http/1.1 200 OK"), /HTTP\/1\.1 status line/],
  ["another protocol", "SSH-2.0-OpenSSH_9.2\r\n", /"SSH-2\.0/],
  ["a blank line first", "\r\nHTTP/1.1 200 OK\r\n\r\n", /HTTP\/1\.1 status line/],
  ["two spaces before the status", lines("HTTP/1.1  200 OK"), /in the status code/],
  ["a tab before the status", lines("HTTP/1.1\t200 OK"), /HTTP\/1\.1 status line/],
  ["status 099", lines("HTTP/1.1 099 x"), /status 99 /],
  ["status 600", lines("HTTP/1.1 600 x"), /status 600 /],
  ["a status of two digits", lines("HTTP/1.1 20 OK"), /a space in the status code/],
  ["a status of four digits", lines("HTTP/1.1 2000 OK"), /HTTP\/1\.1 status line/],
  ["a negative status", lines("HTTP/1.1 -20 OK"), /"-" in the status code/],

  ["101 that nobody asked for", lines("HTTP/1.1 101 x", "Upgrade: websocket"), /without an upgrade/],
  ["101 to HEAD", lines("HTTP/1.1 101 x"), /without an upgrade/, HEAD],
];

for (const [what, text, why, request] of REFUSED) {
  Deno.test(`parseResponseHead refuses ${what}`, () => {
    assert.throws(() => read(text, request), (error: unknown) => {
      assert(error instanceof ResponseSyntaxError);
      assert.match(error.message, why);
      assert(error.message.length < 200 && /^[ -~]+$/.test(error.message), "a message is one line that can be shown");
      return true;
    });
  });
}

Deno.test("parseResponseHead answers null for every beginning of a good head, and never before it is whole", () => {
  for (const [, text, , request] of ACCEPTED) {
    const bytes = latin1(text);
    for (let end = 0; end < bytes.length; end++) assert.equal(parseResponseHead(bytes, 0, end, request ?? GET), null);
  }
});

Deno.test("parseResponseHead looks at nothing outside its range and gives offsets into the whole buffer", () => {
  const head = ok("Content-Length: 5", "X-A: b");
  const bytes = latin1(`\0garbage${head}hello\0HTTP/9`);
  const parsed = parseResponseHead(bytes, 8, 8 + head.length + 5, GET);
  assert(parsed !== null);
  assert.equal(parsed.end, 8 + head.length);
  const fields = String.fromCharCode(...bytes.subarray(parsed.fieldsStart, parsed.fieldsEnd));
  assert.equal(fields, "Content-Length: 5\r\nX-A: b\r\n");
});

Deno.test("parseResponseHead reads several interim heads and the final one from one buffer", () => {
  const bytes = latin1(
    lines("HTTP/1.1 100 Continue") + lines("HTTP/1.1 103 x", "Link: </a>") + lines("HTTP/1.1 102 Processing") +
      ok("Content-Length: 2") + "hi",
  );
  const statuses: number[] = [];
  let at = 0;
  for (let informational = true; informational;) {
    const head = parseResponseHead(bytes, at, bytes.length, GET);
    assert(head !== null);
    statuses.push(head.status);
    ({ end: at, informational } = head);
  }
  assert.deepEqual(statuses, [100, 103, 102, 200]);
  assert.equal(bytes.length - at, 2);
});

Deno.test("parseResponseHead takes a status beyond 599 for those who can pass it on", () => {
  const parse = (status: string) => {
    const bytes = latin1(lines(`HTTP/1.1 ${status} x`, "Content-Length: 1"));
    return parseResponseHead(bytes, 0, bytes.length, { ...GET, maxStatus: 999 });
  };
  for (const status of [600, 999]) {
    const head = parse(String(status));
    assert.deepEqual([head?.status, head?.framing, head?.informational], [status, "length", false]);
  }
  for (const status of ["099", "1000", "-99"]) assert.throws(() => parse(status), ResponseSyntaxError, status);
});

Deno.test("parseResponseHead removes white space before a colon from the block, whatever arrives first", () => {
  const text = ok("Content-Length\t : 5", "X-A : b", "X-B: c : d");
  for (let cut = 0; cut <= text.length; cut++) {
    const bytes = latin1(text);
    parseResponseHead(bytes, 0, cut, GET);
    const head = parseResponseHead(bytes, 0, bytes.length, GET);
    const block = String.fromCharCode(...bytes.subarray(head?.fieldsStart, head?.fieldsEnd));
    assert.equal(block, "Content-Length:   5\r\nX-A:  b\r\nX-B: c : d\r\n");
  }
});

Deno.test("parseResponseHead gives a head without fields an empty block", () => {
  const head = readWhole("HTTP/1.1 200 OK\r\n\r\n");
  assert.equal(head.fieldsStart, head.fieldsEnd);
});

Deno.test("parseResponseHead takes a head of exactly the greatest size and refuses one byte more", () => {
  const empty = ok("Content-Length: 1", "X: ").length;
  const largest = ok("Content-Length: 1", `X: ${"x".repeat(MAX_RESPONSE_HEAD - empty)}`);
  assert.equal(largest.length, MAX_RESPONSE_HEAD);
  assert.equal(readWhole(largest + "b").end, MAX_RESPONSE_HEAD);
  assert.equal(read(largest.slice(0, -1)), null);
  assert.throws(
    () => read(ok("Content-Length: 1", `X: x${"x".repeat(MAX_RESPONSE_HEAD - empty)}`)),
    /longer than 65536/,
  );
  assert.throws(() => read("HTTP/1.1 200 " + "x".repeat(MAX_RESPONSE_HEAD)), /longer than 65536/);
});

Deno.test("parseResponseHead gives random bytes a result or a ResponseSyntaxError", () => {
  const piece = fc.oneof(
    fc.string(),
    fc.constantFrom(
      "HTTP/1.1 200 OK",
      "\r\n",
      "\r\n\r\n",
      "\r",
      "\n",
      "Content-Length: ",
      "Transfer-Encoding: chunked",
    ),
    fc.constantFrom(": ", "5", ",", " ", "\t", "\0", "Connection: close", "HTTP/1.0 204", "HTTP/1.1 101 "),
  );
  const text = fc.tuple(fc.constantFrom("", "HTTP/1.1 200 OK\r\n", "HTTP/1.0 304\r\n"), fc.array(piece))
    .map(([start, rest]) => latin1(start + rest.join("")));
  const bytes = fc.oneof(fc.uint8Array({ maxLength: 300 }), text);
  const request = fc.constantFrom(GET, HEAD, CONNECT, UPGRADE);
  fc.assert(
    fc.property(bytes, request, (bytes, request) => {
      try {
        const head = parseResponseHead(bytes, 0, bytes.length, request);
        if (head === null) return;
        assert(head.end <= bytes.length && head.fieldsStart <= head.fieldsEnd && head.fieldsEnd + 2 === head.end);
        assert(head.status >= 100 && head.status <= 599);
        // Bytes that follow cannot change what has been read.
        const longer = new Uint8Array([...bytes, 0, 13, 10]);
        assert.deepEqual(parseResponseHead(longer, 0, longer.length, request), head);
      } catch (error) {
        assert(error instanceof ResponseSyntaxError, String(error));
      }
    }),
    { numRuns: 5000 },
  );
});
