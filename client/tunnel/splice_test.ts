import assert from "node:assert/strict";
import { latin1, ScriptedConnection, settle } from "../../net/upstream/_script.ts";
import { createRelayEnd } from "./_relay_end.ts";
import { Splice } from "./splice.ts";
import type { Target } from "./target.ts";
import { Opening } from "../../protocol/mod.ts";

const HEAD = "GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: chat\r\n\r\n";
const NOTHING = new Uint8Array(0);

/** A visitor whose upgrade was granted, spliced with a service that is the test. */
async function openSplice() {
  const service = new ScriptedConnection();
  const target: Target = {
    name: "chat",
    handle({ stream }) {
      const splice = new Splice(stream, service);
      const block = latin1("Go On\r\nupgrade: chat\r\n");
      stream.respond(101, block, 0, block.length, NOTHING, 0, 0, false);
      void splice.run();
      return {
        onData: (piece, end) => splice.push(piece, end),
        onReset: () => splice.abort(),
      };
    },
    close: () => Promise.resolve(),
  };
  const end = createRelayEnd(target);
  const visit = end.visit(HEAD, Opening.upgrade);
  await settle();
  return { service, visit, relay: end.relay };
}

Deno.test("Splice: what the visitor said last is written whole, though the service has ended its side meanwhile", async () => {
  const { service, visit } = await openSplice();
  service.holdWrites = true;
  await visit.stream.write(latin1("first "));
  await settle();
  await visit.stream.write(latin1("and last"), true);
  await settle();
  service.end();
  await settle();
  assert.equal(visit.state, "end");
  assert.deepEqual([service.closed, service.text], [false, "first "]);
  service.letWrite();
  await settle();
  assert.deepEqual([service.closed, service.text], [true, "first and last"]);
});

Deno.test("Splice: a stream that is reset closes the service's connection, whatever waits", async () => {
  const { service, visit, relay } = await openSplice();
  service.holdWrites = true;
  await visit.stream.write(latin1("waits"));
  await settle();
  visit.stream.reset(0);
  await settle();
  assert.deepEqual([service.closed, relay.size], [true, 0]);
});

Deno.test("Splice: a message alone arrives without another behind it, and many keep their order", async () => {
  const { service, visit } = await openSplice();
  service.send("alone");
  await visit.until(({ body }) => body === "alone");
  for (let count = 0; count < 100; count++) service.send(`${count},`);
  await visit.until(({ body }) => body.endsWith(",99,"));
  assert.equal(visit.body, `alone${Array.from({ length: 100 }, (_, count) => `${count},`).join("")}`);
});
