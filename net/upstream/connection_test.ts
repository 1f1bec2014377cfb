import assert from "node:assert/strict";
import { ResponseSyntaxError } from "../http1/mod.ts";
import { ScriptedConnection, settle } from "./_script.ts";
import { UpstreamConnection } from "./connection.ts";

const GET = { method: "GET", upgrade: false };

function start() {
  const peer = new ScriptedConnection();
  return { peer, connection: new UpstreamConnection(peer, "http://upstream.test", () => {}) };
}

Deno.test("UpstreamConnection finds the head however it is cut, and counts what a read brought", async () => {
  const text = "HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\na: b\r\n\r\nbody";
  for (const size of [1, 2, 3, 7, text.length]) {
    const { peer, connection } = start();
    for (let at = 0; at < text.length; at += size) peer.send(text.slice(at, at + size));
    const statuses: number[] = [];
    while (statuses.at(-1) !== 200) {
      assert(await connection.fill());
      for (let head = connection.parseHead(GET); head !== null; head = connection.parseHead(GET)) {
        statuses.push(head.status);
        connection.start = head.end;
        if (!head.informational) break;
      }
    }
    assert.deepEqual(statuses, [103, 200], `pieces of ${size}`);
  }
});

Deno.test("UpstreamConnection gives up on a head that does not end", async () => {
  const { peer, connection } = start();
  peer.send("HTTP/1.1 200 OK\r\n");
  await assert.rejects(async () => {
    for (;;) {
      peer.send("a: ".padEnd(1000, "b"));
      assert.equal(await connection.fill() !== null, true);
      assert.equal(connection.parseHead(GET), null);
      assert(connection.end < 100_000, "it has no limit");
    }
  }, ResponseSyntaxError);
});

Deno.test("UpstreamConnection looks at each byte of a head once, not once a read", async () => {
  const { peer, connection } = start();
  const head = `HTTP/1.1 200 OK\r\n${"a: b\r\n".repeat(250)}c: ${"x".repeat(50_000)}\r\n\r\n`;
  let parses = 0;
  // Read by the parser alone, and only when it parses.
  const request = {
    method: "GET",
    upgrade: false,
    get maxStatus() {
      parses++;
      return 599;
    },
  };
  for (const char of head) {
    peer.send(char);
    await connection.fill();
    const parsed = connection.parseHead(request);
    if (parsed !== null) break;
  }
  assert.equal(connection.end, head.length);
  assert(parses < 20, `${parses} parses`);
});

Deno.test("UpstreamConnection.detach gives what came behind the head first", async () => {
  const { peer, connection } = start();
  peer.send("HTTP/1.1 101 Go\r\n\r\nearly");
  await connection.fill();
  connection.start = connection.parseHead({ method: "GET", upgrade: true })!.end;
  const detached = connection.detach();
  peer.send("late");
  const into = new Uint8Array(3), texts: string[] = [];
  for (let count = 0; count < 4; count++) {
    texts.push(String.fromCharCode(...into.subarray(0, await detached.read(into) ?? 0)));
  }
  assert.deepEqual(texts, ["ear", "ly", "lat", "e"]);
  detached.close();
  await settle();
  assert.deepEqual([peer.closed, connection.isClosed], [true, true]);
});
