import assert from "node:assert/strict";
import { ScriptedConnection } from "./_script.ts";
import { readResponseHead } from "./response.ts";
import { UpstreamConnection } from "./connection.ts";

Deno.test("readResponseHead tells of each connection its own fields, wherever its memory lies", async () => {
  const names = ["first", "second", "third"];
  const open = names.map((name) => {
    const peer = new ScriptedConnection();
    peer.send(`HTTP/1.1 200 ${name}\r\nx-name: ${name}\r\n\r\n`);
    return new UpstreamConnection(peer, "", () => {});
  });
  const heads = await Promise.all(open.map((one) => readResponseHead(one, { method: "GET", upgrade: false })));
  assert.deepEqual(
    heads.map(({ statusText, headers }) => [statusText, headers]),
    names.map((name) => [name, [["x-name", name]]]),
  );
  for (const connection of open) connection.close();
});
