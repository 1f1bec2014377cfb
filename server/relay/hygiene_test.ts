import assert from "node:assert/strict";
import { isDroppedFromRequest, isDroppedFromResponse, namedByConnection } from "./hygiene.ts";

const HOP_BY_HOP = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

Deno.test("fields of one connection stay behind both ways", () => {
  for (const name of HOP_BY_HOP) assert(isDroppedFromRequest(name) && isDroppedFromResponse(name), name);
});

Deno.test("what a visitor claims in fields of ours stays behind", () => {
  const ours = ["expect", "forwarded", "host", "x-forwarded-for", "x-forwarded-host", "x-forwarded-port"];
  const others = ["x-forwarded-by", "x-forwarded-ssl", "x-forwarded-scheme", "x-forwarded-prefix"];
  // To CGI and WSGI programs these are the same.
  const spellings = ["x_forwarded_for", "x-forwarded_for", "x_forwarded-proto", "x_real_ip", "x_forwarded_ssl"];
  for (
    const name of [
      ...ours,
      ...others,
      ...spellings,
      "x-forwarded-proto",
      "x-real-ip",
      "portway-error",
      "portway-anything",
    ]
  ) {
    assert(isDroppedFromRequest(name), name);
  }
});

Deno.test("everything else travels", () => {
  for (
    const name of [
      "cookie",
      "authorization",
      "x-forwarded-of-mine",
      "x_csrf_token",
      "content-length",
      "portwayx",
      "sec-websocket-key",
    ]
  ) {
    assert(!isDroppedFromRequest(name), name);
  }
  for (const name of ["set-cookie", "server", "content-length", "x-forwarded-for", "portway-other"]) {
    assert(!isDroppedFromResponse(name), name);
  }
  assert(isDroppedFromResponse("portway-error"));
});

Deno.test("namedByConnection lists names in lower case, and nothing for the usual values", () => {
  for (const usual of [null, "close", "keep-alive", "Upgrade", "keep-alive, Upgrade"]) {
    assert.equal(namedByConnection(usual), null);
  }
  assert.deepEqual(namedByConnection("close, X-One ,x-two"), new Set(["x-one", "x-two"]));
});
