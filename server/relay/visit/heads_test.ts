import assert from "node:assert/strict";
import type { Origin } from "../../../net/forwarded.ts";
import { decodeLatin1, encodeLatin1, FieldSyntaxError } from "../../../net/http1/mod.ts";
import { createExchange, type FakeExchangeOptions } from "./_fake_exchange.ts";
import {
  isDroppedFromRequest,
  isDroppedFromResponse,
  namedByConnection,
  type NameTest,
  ResponseBlock,
  VisitorHead,
} from "./heads.ts";

const host = "a.try.example:8443";
const origin: Origin = {
  address: "192.0.2.7",
  network: "192.0.2.7",
  proto: "https",
  host: "what-a-proxy-passed-on.example",
};
const OURS = "x-forwarded-for: 192.0.2.7\r\nx-forwarded-proto: https\r\nx-forwarded-host: a.try.example:8443\r\n" +
  'forwarded: for=192.0.2.7;proto=https;host="a.try.example:8443"\r\n\r\n';

/** The head as it travels, written somewhere in the middle of a message. */
function write(options: FakeExchangeOptions, from: Origin = origin): string {
  const head = new VisitorHead(createExchange({ host, ...options }), from);
  const into = new Uint8Array(7 + head.headSize);
  const end = head.writeHead(into, 7);
  assert(end <= into.length, "the head is larger than announced");
  return decodeLatin1(into, 7, end);
}

Deno.test("method, target and fields pass as they were sent, host first, ours last", () => {
  const fields: [string, string][] = [["X-One", "1"], ["COOKIE", "a=b"], ["x-one", "  2\t"], ["x-two", "caf\xe9 \xff"]];
  assert.equal(
    write({ method: "PROPFIND", target: "/a%2Fb//c?x=%20&y=\xe9", fields }),
    "PROPFIND /a%2Fb//c?x=%20&y=\xe9 HTTP/1.1\r\nhost: a.try.example:8443\r\nX-One: 1\r\nCOOKIE: a=b\r\n" +
      `x-one:   2\t\r\nx-two: caf\xe9 \xff\r\n${OURS}`,
  );
});

const targets: [sent: string, method: string, travels: string][] = [
  ["http://a.try.example:8443/x?y", "GET", "/x?y"],
  ["HTTPS://a.try.example:8443", "GET", "/"],
  ["http://a.try.example:8443?y=1", "GET", "/?y=1"],
  ["*", "OPTIONS", "*"],
  ["http://a.try.example:8443/*", "OPTIONS", "/*"],
];

for (const [sent, method, travels] of targets) {
  Deno.test(`the target ${method} ${sent} travels as ${travels}`, () => {
    assert.equal(
      write({ method, target: sent }),
      `${method} ${travels} HTTP/1.1\r\nhost: a.try.example:8443\r\n${OURS}`,
    );
  });
}

Deno.test("the host of an absolute target is the host, whatever the Host field says", () => {
  const head = write({ target: "http://b.try.example/x" });
  assert.match(head, /^GET \/x HTTP\/1\.1\r\nhost: b\.try\.example\r\nx-forwarded-for/);
  assert.match(head, /\r\nx-forwarded-host: b\.try\.example\r\n/);
});

Deno.test("what a visitor may not say stays behind, and what Connection names", () => {
  const fields: [string, string][] = [
    ["Connection", "close, X-Hop"],
    ["connection", "x-other"],
    ["X-Hop", "1"],
    ["x-forwarded-for", "10.0.0.1"],
    ["Forwarded", "for=10.0.0.1"],
    ["x-real-ip", "10.0.0.1"],
    ["portway-tunnel", "x"],
    ["transfer-encoding", "chunked"],
    ["te", "trailers"],
    ["Content_Length", "5"],
    ["expect", "100-continue"],
    ["X-OTHER", "2"],
    ["accept", "*/*"],
  ];
  const body = (async function* () {})();
  const kept = "accept: */*\r\nexpect: 100-continue\r\n";
  assert.equal(write({ fields, body }), `GET / HTTP/1.1\r\nhost: a.try.example:8443\r\n${kept}${OURS}`);
  const [, bodyless] = write({ fields: [["expect", "100-continue"]] }).split("\r\n");
  assert.equal(bodyless, "host: a.try.example:8443", "an expectation without a body means nothing");
});

Deno.test("a body keeps its length, even when Connection names it", () => {
  const fields: [string, string][] = [["Connection", "Content-Length"], ["Content-Length", "5"]];
  assert.match(write({ method: "POST", fields }), /\r\nContent-Length: 5\r\n/);
});

Deno.test("an upgrade passes whole, with its extensions and its own protocol's fields", () => {
  const fields: [string, string][] = [
    ["Connection", "keep-alive, Upgrade"],
    ["Upgrade", "WebSocket"],
    ["Sec-WebSocket-Key", "k"],
    ["Sec-WebSocket-Version", "13"],
    ["Sec-WebSocket-Extensions", "permessage-deflate"],
    ["Sec-WebSocket-Protocol", "chat"],
  ];
  assert.equal(
    write({ fields }),
    "GET / HTTP/1.1\r\nhost: a.try.example:8443\r\nSec-WebSocket-Key: k\r\nSec-WebSocket-Version: 13\r\n" +
      "Sec-WebSocket-Extensions: permessage-deflate\r\nSec-WebSocket-Protocol: chat\r\n" +
      `connection: Upgrade\r\nUpgrade: WebSocket\r\n${OURS}`,
  );
});

Deno.test("an upgrade to HTTP/2 without TLS stays behind", () => {
  const fields: [string, string][] = [
    ["Connection", "Upgrade, HTTP2-Settings"],
    ["Upgrade", "h2c"],
    ["HTTP2-Settings", "AAMAAABkAAQCAAAAAAIAAAAA"],
  ];
  assert.equal(write({ fields }), `GET / HTTP/1.1\r\nhost: a.try.example:8443\r\n${OURS}`);
});

Deno.test("a visitor with HTTP/1.0 is passed on as HTTP/1.1", () => {
  assert.match(write({ version: "1.0" }), /^GET \/ HTTP\/1\.1\r\nhost: a\.try\.example:8443\r\n/);
});

Deno.test("an IPv6 visitor is written as RFC 7239 wants it, and each visitor's address is its own", () => {
  const head = write({}, { ...origin, address: "2001:db8::1" });
  assert.match(head, /\r\nx-forwarded-for: 2001:db8::1\r\n/);
  assert.match(head, /\r\nforwarded: for="\[2001:db8::1\]";proto=https;/);
  assert.match(write({}), /\r\nx-forwarded-for: 192\.0\.2\.7\r\n/);
});

const block = new ResponseBlock();

/** The block as it goes on, read from somewhere in a frame that is used again at once. */
function pass(status: number, text: string): string {
  const frame = encodeLatin1(`....${text}....`);
  block.read(status, frame, 4, 4 + text.length);
  frame.fill(0xee);
  return decodeLatin1(block.bytes, 0, block.bytes.length);
}

Deno.test("reason phrase and fields pass byte for byte: order, duplicates, case, bytes above 0x7f", () => {
  const text =
    "It W\xf6rks\r\nSet-Cookie: a\r\nX-b:\tc \r\nset-cookie: b\r\nETag: \xff\r\nProxy-Authenticate: Basic\r\n";
  assert.equal(pass(200, text), text);
  assert.equal(block.length, -1);
  assert.equal(pass(200, "\r\n"), "\r\n");
});

Deno.test("what belongs to the service's connection stays behind, and what Connection names", () => {
  assert.equal(
    pass(
      200,
      "OK\r\nKeep-Alive: 5\r\na: 1\r\nConnection: close, X-Hop\r\nTransfer-Encoding: chunked\r\nb: 2\r\n" +
        "x-hop: 3\r\nconnection: y-hop\r\nY-Hop: 4\r\nUpgrade: h2c\r\nPortway-Error: x\r\n",
    ),
    "OK\r\na: 1\r\nb: 2\r\n",
  );
});

Deno.test("the length is read, and stays where the answer may have one", () => {
  for (const status of [200, 205, 206, 304, 404]) {
    assert.equal(pass(status, "\r\nContent-Length: 17\r\n"), "\r\nContent-Length: 17\r\n");
    assert.equal(block.length, 17);
  }
  for (const status of [100, 103, 101, 204]) {
    assert.equal(pass(status, "\r\nContent-Length: 17\r\na: b\r\n"), "\r\na: b\r\n");
  }
});

Deno.test("a Connection field cannot take the length away", () => {
  assert.equal(
    pass(200, "\r\nConnection: content-length\r\ncontent-length: 3\r\n"),
    "\r\ncontent-length: 3\r\n",
  );
  assert.equal(block.length, 3);
});

Deno.test("a length is added where none was", () => {
  pass(200, "OK\r\na: b\r\n");
  block.addLength(12);
  assert.equal(decodeLatin1(block.bytes, 0, block.bytes.length), "OK\r\na: b\r\ncontent-length: 12\r\n");
  assert.equal(block.length, 12);
});

Deno.test("101 keeps what was agreed on", () => {
  assert.equal(
    pass(101, "Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Extensions: x\r\n"),
    "Switching Protocols\r\nUpgrade: websocket\r\nSec-WebSocket-Extensions: x\r\n",
  );
});

const malformed: [name: string, text: string][] = [
  ["no end of the reason phrase", "OK"],
  ["nothing", ""],
  ["a line break in the reason phrase", "O\nK\r\n"],
  ["a line without a colon", "\r\nnonsense\r\n"],
  ["a bare LF in a value", "\r\na: b\nc: d\r\n"],
  ["a bare CR in a value", "\r\na: b\rc: d\r\n"],
  ["an empty name", "\r\n: b\r\n"],
  ["a space in a name", "\r\na b: c\r\n"],
  ["a space before the colon", "\r\na : c\r\n"],
  ["line folding", "\r\na: b\r\n c\r\n"],
  ["a field without its end", "\r\na: b"],
  ["NUL in a value", "\r\na: \0\r\n"],
  ["a blank line", "\r\na: b\r\n\r\n"],
  ["bytes behind a blank line", "\r\n\r\nHTTP/1.1 200 OK\r\n"],
  ["two lengths", "\r\ncontent-length: 3\r\nContent-Length: 3\r\n"],
  ["a length that is none", "\r\ncontent-length: +3\r\n"],
  ["257 fields", `\r\n${"a: b\r\n".repeat(257)}`],
];

for (const [name, text] of malformed) {
  Deno.test(`a block with ${name} is refused`, () => {
    assert.throws(() => pass(200, text), FieldSyntaxError);
  });
}

Deno.test("a block that is as large as the wire allows passes, and the next one is its own", () => {
  const fields = `x: ${"y".repeat(500)}\r\n`.repeat(100);
  const text = `\r\n${fields}z: ${"z".repeat(0xffff - 2 - fields.length - 5)}\r\n`;
  assert.equal(text.length, 0xffff);
  assert.equal(pass(200, text), text);
  block.addLength(Number.MAX_SAFE_INTEGER);
  assert.equal(pass(200, `\r\n${"a: b\r\n".repeat(256)}`).length, 2 + 256 * 6);
});

const HOP_BY_HOP = [
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

/** Whether the name is dropped, wherever it lies in a head and however its letters are written. */
function drops(test: NameTest, name: string): boolean {
  const spellings = [name, name.toUpperCase(), name.replace(/(^|[-_])\w/g, (part) => part.toUpperCase())];
  const answers = spellings.map((spelling) => {
    const bytes = encodeLatin1(`x: y\r\n${spelling}: z\r\n`);
    return test(bytes, 6, 6 + spelling.length);
  });
  assert.equal(new Set(answers).size, 1, `${name} depends on its letters' case`);
  return answers[0];
}

Deno.test("fields of one connection stay behind both ways", () => {
  for (const name of HOP_BY_HOP) assert(drops(isDroppedFromRequest, name) && drops(isDroppedFromResponse, name), name);
});

Deno.test("what a visitor claims in fields of ours stays behind", () => {
  const ours = ["expect", "forwarded", "host", "x-forwarded-for", "x-forwarded-host", "x-forwarded-port", "x-real-ip"];
  const others = ["x-forwarded-by", "x-forwarded-ssl", "x-forwarded-scheme", "x-forwarded-prefix", "x-forwarded-proto"];
  // To CGI and WSGI programs these are the same.
  const spellings = ["x_forwarded_for", "x-forwarded_for", "x_forwarded-proto", "x_real_ip", "x_forwarded_ssl"];
  const lengths = ["content_length", "transfer_encoding", "transfer_encoding"];
  const own = ["portway-error", "portway-anything", "portway_error"];
  const all = [...ours, ...others, ...spellings, ...lengths, ...own, "proxy-authorization", "http2-settings"];
  for (const name of all) assert(drops(isDroppedFromRequest, name), name);
});

Deno.test("everything else travels", () => {
  const asked = ["cookie", "authorization", "x-forwarded-of-mine", "x_csrf_token", "content-length", "portwayx"];
  const upgrade = ["sec-websocket-key", "sec-websocket-extensions", "origin", "referer"];
  for (const name of [...asked, ...upgrade, "x", "h", "hosts"]) assert(!drops(isDroppedFromRequest, name), name);
  const answered = ["set-cookie", "server", "content-length", "x-forwarded-for", "portway-other", "proxy-authenticate"];
  for (const name of answered) assert(!drops(isDroppedFromResponse, name), name);
  assert(drops(isDroppedFromResponse, "portway-error"));
});

Deno.test("namedByConnection lists names in lower case, and nothing for the usual values", () => {
  for (const usual of ["close", "keep-alive", "Upgrade", "keep-alive, Upgrade", "keep-alive,upgrade"]) {
    assert.equal(namedByConnection(usual), null);
  }
  assert.deepEqual(namedByConnection("close, X-One ,x-two"), new Set(["x-one", "x-two"]));
});

Deno.test("namedByConnection never lists the length, without which a body's end would be lost", () => {
  assert.deepEqual(namedByConnection("Content-Length, x-one"), new Set(["x-one"]));
});
