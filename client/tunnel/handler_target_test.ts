import assert from "node:assert/strict";
import { settle } from "../../net/upstream/_script.ts";
import { Opening, ResetReason } from "../../protocol/mod.ts";
import { createRelayEnd } from "./_relay_end.ts";
import { createHandlerTarget } from "./handler_target.ts";

const GET = "GET /a?b HTTP/1.1\r\nhost: a.example\r\nx-forwarded-for: 192.0.2.1\r\n\r\n";
const POST = "POST / HTTP/1.1\r\nhost: a.example\r\n\r\n";

function serve(fetch: (request: Request) => Response | Promise<Response>) {
  const close = () => Promise.resolve();
  return createRelayEnd(createHandlerTarget("test", { fetch: (request) => Promise.resolve(fetch(request)), close }));
}

Deno.test("a handler's answer is carried, fields and body", async () => {
  const { visit, relay, client } = serve((request) =>
    new Response(`${request.method} ${new URL(request.url).pathname}`, { status: 201, headers: { x: "y" } })
  );
  const { status, head, body } = await visit(GET).until();
  assert.deepEqual([status, body], [201, "GET /a"]);
  assert.match(head, /x: y\r\n/);
  await settle();
  assert.deepEqual([relay.size, client.size], [0, 0]);
});

Deno.test("a handler reads a request's body, large as it may be", async () => {
  const { visit } = serve(async (request) => new Response(String((await request.bytes()).length)));
  const visitor = visit(POST, Opening.withBody);
  await visitor.stream.write(new Uint8Array(1_000_000), true);
  assert.equal((await visitor.until()).body, "1000000");
});

Deno.test("a handler's body that fails in the middle resets its stream and leaves the session alone", async () => {
  const { visit, relay, client } = serve(() => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new Uint8Array(10)),
      pull: (controller) => controller.error(new Error("disk")),
    });
    return new Response(body);
  });
  const visitor = await visit(GET).until();
  assert.deepEqual([visitor.status, visitor.state], [200, `reset ${ResetReason.broken}: the answer broke off`]);
  assert.deepEqual([relay.over, client.over, relay.size, client.size], [false, false, 0, 0]);
});

Deno.test("a handler that does not read the request's body leaves no stream behind", async () => {
  const { visit, relay, client } = serve(() => new Response("no", { status: 413 }));
  const visitor = visit(POST, Opening.withBody);
  const writing = visitor.stream.write(new Uint8Array(2_000_000), true).catch(() => "stopped");
  assert.deepEqual([(await visitor.until()).status, visitor.body], [413, "no"]);
  assert.equal(await writing, "stopped");
  await settle();
  assert.deepEqual([relay.size, client.size], [0, 0]);
});

Deno.test("a request that the web API refuses is answered 400", async () => {
  const { visit } = serve(() => new Response("never"));
  assert.equal((await visit("TRACE / HTTP/1.1\r\nhost: a\r\n\r\n").until()).status, 400);
});

Deno.test("a handler's request is aborted when the visitor leaves", async () => {
  let aborted = false;
  const { visit, client } = serve((request) =>
    new Promise((resolve) =>
      request.signal.addEventListener("abort", () => {
        aborted = true;
        resolve(new Response("too late"));
      })
    )
  );
  const visitor = visit(GET);
  await settle();
  visitor.stream.reset(ResetReason.cancelled);
  await settle();
  assert.deepEqual([aborted, client.size], [true, 0]);
});

Deno.test("a handler is asked for an upgrade as for a plain request, and its answer is one", async () => {
  const { visit, relay, client } = serve((request) => new Response(`${request.method} plain`, { status: 426 }));
  const head = "GET / HTTP/1.1\r\nhost: a.example\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n";
  const { status, body, state } = await visit(head, Opening.upgrade).until();
  assert.deepEqual([status, body, state], [426, "GET plain", "end"]);
  await settle();
  assert.deepEqual([relay.size, client.size], [0, 0]);
});
