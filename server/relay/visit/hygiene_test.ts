import assert from "node:assert/strict";
import { encodeLatin1 } from "../../../common/http1/mod.ts";
import { isDroppedFromAnswer, isDroppedFromRequest, namedByConnection, type NameTest } from "./hygiene.ts";

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
  for (const name of HOP_BY_HOP) assert(drops(isDroppedFromRequest, name) && drops(isDroppedFromAnswer, name), name);
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
  for (const name of answered) assert(!drops(isDroppedFromAnswer, name), name);
  assert(drops(isDroppedFromAnswer, "portway-error"));
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
