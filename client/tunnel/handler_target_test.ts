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
  assert.deepEqual([visitor.status, visitor.state], [200, `reset ${ResetReason.broken}: the response broke off`]);
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

Deno.test("a WebSocket handshake to a handler gets 501 and does not reach it", async () => {
  const { visit, relay, client } = serve(() => assert.fail("called"));
  const head = "GET / HTTP/1.1\r\nhost: a.example\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n";
  const { status, body, state } = await visit(head, Opening.upgrade).until();
  assert.deepEqual([status, state], [501, "end"]);
  assert.match(body, /WebSocket/);
  await settle();
  assert.deepEqual([relay.size, client.size], [0, 0]);
});

Deno.test("an offer of HTTP/2 to a handler is ignored, as HTTP allows", async () => {
  const { visit } = serve((request) => new Response(`${request.method} plain`));
  const head = "GET / HTTP/1.1\r\nhost: a.example\r\nconnection: Upgrade\r\nupgrade: h2c\r\n\r\n";
  const { status, body } = await visit(head, Opening.upgrade).until();
  assert.deepEqual([status, body], [200, "GET plain"]);
});

Deno.test("a handler sees the scheme that the visitor used", async () => {
  const { visit } = serve((request) => new Response(request.url));
  const ask = (fields: string) => visit(`GET /a HTTP/1.1\r\nhost: a.example\r\n${fields}\r\n`).until();
  assert.equal((await ask("x-forwarded-proto: https\r\n")).body, "https://a.example/a");
  assert.equal((await ask("x-forwarded-proto: http\r\n")).body, "http://a.example/a");
  assert.equal((await ask("")).body, "http://a.example/a");
});

/** A response whose status the constructor does not accept. */
function withStatus(status: number): Response {
  return Object.defineProperty(new Response(null), "status", { value: status });
}

async function used(): Promise<Response> {
  const response = new Response("once");
  await response.text();
  return response;
}

const unusable: [name: string, respond: () => unknown, reason: RegExp][] = [
  ["Response.error()", () => Response.error(), /status 0/],
  ["status 99", () => withStatus(99), /status 99/],
  ["status 101", () => withStatus(101), /status 101/],
  ["status 600", () => withStatus(600), /status 600/],
  ["undefined", () => undefined, /returned undefined, not a Response/],
  ["a text", () => "hello", /returned a string, not a Response/],
  ["a body that was used", used, /body was used/],
  [
    "a stream of strings",
    () => new Response(ReadableStream.from(["hello"]) as unknown as ReadableStream<Uint8Array<ArrayBuffer>>),
    /bytes/,
  ],
  ["a head that is too large", () => new Response("", { headers: { x: "x".repeat(70_000) } }), /too large/],
];

for (const [name, respond, reason] of unusable) {
  Deno.test(`a handler that responds with ${name} costs its visitor a 500, is reported, and nothing else ends`, async () => {
    const errors: unknown[] = [], release = Promise.withResolvers<void>();
    const fetch = async ({ url }: Request) => {
      if (url.endsWith("/bad")) return await respond() as Response;
      await release.promise;
      return new Response("good");
    };
    const target = createHandlerTarget(
      "test",
      { fetch, close: () => Promise.resolve() },
      (error) => errors.push(error),
    );
    const { visit, relay, client } = createRelayEnd(target);
    const other = visit("GET /good HTTP/1.1\r\nhost: a\r\n\r\n");
    const { status, head, state } = await visit("GET /bad HTTP/1.1\r\nhost: a\r\n\r\n").until();
    assert.deepEqual([status, state], [500, "end"]);
    assert.match(head, /portway-error: handler_failed/);
    assert.equal(errors.length, 1);
    assert.match(String(errors[0]), reason);
    release.resolve();
    const { status: otherStatus, body } = await other.until();
    assert.deepEqual([otherStatus, body, relay.over, client.over], [200, "good", false, false]);
  });
}

Deno.test("a handler's stream that turns to strings in the middle resets its stream and is reported", async () => {
  const errors: unknown[] = [];
  const body = ReadableStream.from([new Uint8Array(3), "text"]) as unknown as ReadableStream<Uint8Array<ArrayBuffer>>;
  const fetch = () => Promise.resolve(new Response(body));
  const target = createHandlerTarget("test", { fetch, close: () => Promise.resolve() }, (error) => errors.push(error));
  const visitor = await createRelayEnd(target).visit(GET).until();
  assert.deepEqual([visitor.status, visitor.size, visitor.state.startsWith(`reset ${ResetReason.broken}`)], [
    200,
    3,
    true,
  ]);
  assert.match(String(errors), /bytes/);
});
