import assert from "node:assert/strict";
import type { Origin } from "../../../common/forwarded.ts";
import { decodeLatin1 } from "../../../common/http1/mod.ts";
import { createExchange, type FakeExchangeOptions } from "./_fake_exchange.ts";
import { VisitorHead } from "./request_head.ts";

const host = "a.try.example:8443";
const origin: Origin = { address: "192.0.2.7", proto: "https", host: "what-a-proxy-passed-on.example" };
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
  assert.equal(write({ fields }), `GET / HTTP/1.1\r\nhost: a.try.example:8443\r\naccept: */*\r\n${OURS}`);
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
