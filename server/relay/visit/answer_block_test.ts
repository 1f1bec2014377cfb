import assert from "node:assert/strict";
import { decodeLatin1, encodeLatin1, FieldSyntaxError } from "../../../common/http1/mod.ts";
import { AnswerBlock } from "./answer_block.ts";

const block = new AnswerBlock();

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
