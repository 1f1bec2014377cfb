import { equal } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { dropForbiddenTrailers } from "./trailer_fields.ts";

const drop = (lines: string) =>
  Buffer.from(dropForbiddenTrailers(new Uint8Array(Buffer.from(lines, "latin1")))).toString("latin1");

Deno.test("dropForbiddenTrailers removes every field that RFC 9110 section 6.5.1 forbids, in any spelling", () => {
  const names = ["Content-Length", "Transfer-Encoding", "Host", "Authorization", "X-Forwarded-For", "x_forwarded_host"]
    .concat(
      "CONTENT_LENGTH",
      "Cookie",
      "Set-Cookie",
      "Content-Type",
      "Range",
      "Connection",
      "Portway-Error",
      "If-Match",
    );
  for (const name of names) equal(drop(`${name}: 1\r\n`), "", name);
});

Deno.test("dropForbiddenTrailers keeps all other fields and their order", () => {
  equal(drop(""), "");
  equal(drop("X-Sum: 3\r\ngrpc-status: 0\r\n"), "X-Sum: 3\r\ngrpc-status: 0\r\n");
  equal(drop("X-Sum: 3\r\nHost: a\r\ngrpc-status: 0\r\nte: x\r\nx-b:\r\n"), "X-Sum: 3\r\ngrpc-status: 0\r\nx-b:\r\n");
});
