import assert from "node:assert/strict";
import type { Origin } from "../../common/forwarded.ts";
import { createExchange } from "./_fake_exchange.ts";
import { buildRequestHead } from "./request_head.ts";

const host = "a.try.example:8443";
const origin: Origin = { address: "192.0.2.7", proto: "https", host: "what-a-proxy-passed-on.example" };
const OURS = "x-forwarded-for: 192.0.2.7\r\nx-forwarded-proto: https\r\nx-forwarded-host: a.try.example:8443\r\n" +
  'forwarded: for=192.0.2.7;proto=https;host="a.try.example:8443"\r\n\r\n';

Deno.test("buildRequestHead passes method, target and fields on as they are, host first, ours last", () => {
  const exchange = createExchange({
    host,
    method: "PROPFIND",
    target: "/a%2Fb//c?x=%20&y",
    headers: [["x-one", "1"], ["host", "visitor's"], ["cookie", "a=b"], ["x-one", "2"]],
  });
  assert.equal(
    buildRequestHead(exchange, origin, false),
    "PROPFIND /a%2Fb//c?x=%20&y HTTP/1.1\r\nhost: a.try.example:8443\r\nx-one: 1\r\ncookie: a=b\r\nx-one: 2\r\n" + OURS,
  );
});

Deno.test("buildRequestHead leaves behind what a visitor may not say, and what Connection names", () => {
  const exchange = createExchange({
    host,
    headers: [
      ["connection", "close, X-Hop"],
      ["x-hop", "1"],
      ["x-forwarded-for", "10.0.0.1"],
      ["forwarded", "for=10.0.0.1"],
      ["x-real-ip", "10.0.0.1"],
      ["portway-tunnel", "x"],
      ["transfer-encoding", "chunked"],
      ["te", "trailers"],
      ["expect", "100-continue"],
      ["accept", "*/*"],
    ],
  });
  assert.equal(
    buildRequestHead(exchange, origin, false),
    "GET / HTTP/1.1\r\nhost: a.try.example:8443\r\naccept: */*\r\n" + OURS,
  );
});

Deno.test("buildRequestHead keeps a WebSocket's subprotocols and drops the rest of its handshake", () => {
  const exchange = createExchange({
    host,
    headers: [
      ["connection", "Upgrade"],
      ["upgrade", "websocket"],
      ["sec-websocket-key", "k"],
      ["sec-websocket-version", "13"],
      ["sec-websocket-extensions", "permessage-deflate"],
      ["sec-websocket-protocol", "chat"],
    ],
  });
  assert.equal(
    buildRequestHead(exchange, origin, true),
    "GET / HTTP/1.1\r\nhost: a.try.example:8443\r\nsec-websocket-protocol: chat\r\n" + OURS,
  );
  assert.match(buildRequestHead(exchange, origin, false), /sec-websocket-key: k/);
});

Deno.test("buildRequestHead writes an IPv6 visitor as RFC 7239 wants it", () => {
  const head = buildRequestHead(createExchange(), { ...origin, address: "2001:db8::1" }, false);
  assert.match(head, /\r\nx-forwarded-for: 2001:db8::1\r\n/);
  assert.match(head, /\r\nforwarded: for="\[2001:db8::1\]";proto=https;/);
});
