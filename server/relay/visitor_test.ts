import assert from "node:assert/strict";
import type { HttpError } from "../../common/http_error.ts";
import { GoAwayReason, ResetReason } from "../../protocol/mod.ts";
import { createPair, respond, settle } from "./_client_end.ts";
import { tunnelExhausted } from "./errors.ts";
import { createExchange, type FakeExchangeOptions } from "./_fake_exchange.ts";
import { Visitor } from "./visitor.ts";

const HEAD = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";

/** A visitor whose request has reached the client. */
async function visit(options: FakeExchangeOptions & { gate?: () => HttpError | null } = {}) {
  const pair = createPair();
  const exchange = createExchange(options);
  let metered = 0;
  const visitor = new Visitor(exchange, {
    meter: (bytes) => metered += bytes,
    gate: options.gate ?? (() => null),
  });
  const stream = pair.relay.open(HEAD, { end: !exchange.hasBody, webSocket: false }, visitor)!;
  visitor.start(stream);
  await settle();
  return { ...pair, exchange, visitor, stream, client: pair.streams[0], metered: () => metered };
}

Deno.test("a whole answer becomes a whole response, order and duplicates of fields kept", async () => {
  const { visitor, client, relay, metered } = await visit();
  respond(client, 201, "set-cookie: a\r\nset-cookie: b\r\nx: \xe9\r\nkeep-alive: 5\r\n", "hello", true);
  const response = await visitor.response;
  assert.equal(response.status, 201);
  assert.deepEqual([...response.headers], [["set-cookie", "a"], ["set-cookie", "b"], ["x", "\xe9"]]);
  assert.equal(await response.text(), "hello");
  assert.deepEqual([relay.size, metered()], [0, 51 + 5]);
});

Deno.test("an answer before the request's end is the last of its connection", async () => {
  const { visitor, client } = await visit({ method: "POST", body: new ReadableStream() });
  respond(client, 413, "", "no", true);
  assert.equal((await visitor.response).headers.get("connection"), "close");
});

Deno.test("whose request was under way when the tunnel's traffic ran out is told so, and not to come again", async () => {
  const { visitor, relay } = await visit({ gate: tunnelExhausted });
  relay.end(GoAwayReason.exhausted, "the traffic is used up");
  assert.equal((await visitor.response).status, 410);
});

Deno.test("205 becomes 204 where the listener could not end it", async () => {
  for (const [ends205, status] of [[true, 205], [false, 204]] as const) {
    const { visitor, client } = await visit({ ends205 });
    respond(client, 205, "", "", true);
    assert.equal((await visitor.response).status, status);
  }
});

Deno.test("a streamed answer is a response at once, and its pieces give credit back as they are read", async () => {
  const { visitor, client, relay } = await visit();
  respond(client, 200, "", "first", false);
  const response = await visitor.response;
  const reader = response.body!.getReader();
  assert.equal(new TextDecoder().decode((await reader.read()).value), "first");
  const writing = client.write(new Uint8Array(1_000_000), true);
  let size = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) size += next.value.length;
  await writing;
  assert.deepEqual([size, relay.size], [1_000_000, 0]);
});

Deno.test("a visitor who stops reading and leaves resets the stream", async () => {
  const { visitor, client, told, relay } = await visit();
  respond(client, 200, "", "first", false);
  await (await visitor.response).body!.cancel();
  await settle();
  assert.deepEqual([told, relay.size], [[`reset ${ResetReason.cancelled}`], 0]);
});

Deno.test("a client that resets in the middle of an answer breaks the response off", async () => {
  const { visitor, client } = await visit();
  respond(client, 200, "", "first", false);
  const response = await visitor.response;
  await settle();
  client.reset(ResetReason.broken, "it broke");
  await assert.rejects(response.text(), /it broke/);
});

const refusals: [reason: ResetReason, status: number, code: string][] = [
  [ResetReason.none, 502, "service_broke_off"],
  [ResetReason.cancelled, 502, "service_broke_off"],
  [ResetReason.refused, 502, "service_unreachable"],
  [ResetReason.broken, 502, "service_broke_off"],
  [ResetReason.notHttp, 502, "service_not_http"],
  [ResetReason.idle, 504, "service_timeout"],
  [ResetReason.sessionLost, 503, "tunnel_offline"],
  [ResetReason.limit, 503, "too_many_requests_at_a_time"],
  [ResetReason.forbidden, 403, "port_not_allowed"],
  [ResetReason.internal, 502, "service_broke_off"],
];

for (const [reason, status, code] of refusals) {
  Deno.test(`a reset with reason ${reason} before the answer is ${status} ${code}`, async () => {
    const { visitor, client } = await visit();
    client.reset(reason, "details of it");
    const response = await visitor.response;
    assert.deepEqual([response.status, response.headers.get("portway-error")], [status, code]);
    await response.body?.cancel();
  });
}

const badAnswers: [name: string, status: number, head: string][] = [
  ["status 99", 99, ""],
  ["status 101 to a plain request", 101, ""],
  ["status 600", 600, ""],
  ["a line without a colon", 200, "nonsense\r\n"],
  ["a line break in a value", 200, "a: b\nc: d\r\n"],
  ["an empty name", 200, ": b\r\n"],
  ["a space in a name", 200, "a b: c\r\n"],
  ["a field without its end", 200, "a: b"],
  ["NUL in a value", 200, "a: \0\r\n"],
];

for (const [name, status, head] of badAnswers) {
  Deno.test(`an answer with ${name} is 502 and ends its stream, not the session`, async () => {
    const { visitor, client, relay, told } = await visit();
    respond(client, status, head, "", false);
    const response = await visitor.response;
    assert.deepEqual([response.status, response.headers.get("portway-error")], [502, "bad_answer"]);
    await response.body?.cancel();
    await settle();
    assert.deepEqual([relay.size, told], [0, [`reset ${ResetReason.cancelled}`]]);
  });
}

Deno.test("a WebSocket message on a plain answer breaks the response off instead of leaving it open", async () => {
  const { visitor, client, relay } = await visit();
  respond(client, 200, "", "first", false);
  const response = await visitor.response;
  await client.writeMessage(new Uint8Array(3), true);
  await assert.rejects(response.text(), /WebSocket message/);
  assert.equal(relay.size, 0);
});

Deno.test("a WebSocket close on a plain answer breaks the response off", async () => {
  const { visitor, client } = await visit();
  respond(client, 200, "", "first", false);
  const response = await visitor.response;
  client.closeWebSocket(1000, "");
  await assert.rejects(response.text());
});

for (const [method, status] of [["HEAD", 200], ["GET", 204], ["GET", 304], ["GET", 205]] as const) {
  Deno.test(`a body behind ${method} ${status} ends its stream, the response stays empty`, async () => {
    const { visitor, client, told, relay } = await visit({ method });
    respond(client, status, "", "", false);
    const response = await visitor.response;
    assert.equal(await response.text(), "");
    await client.write(new Uint8Array(10));
    await settle();
    assert.deepEqual([told, relay.size], [[`reset ${ResetReason.cancelled}`], 0]);
  });
}

for (const early of [false, true]) {
  const when = early ? "before the first beat" : "after the first beat";
  Deno.test(`a visitor who leaves before the answer, ${when}, ends the stream, and the response settles`, async () => {
    const { visitor, exchange, told, relay } = await visit();
    if (early) exchange.leave();
    visitor.onBeat();
    exchange.leave();
    assert.equal((await visitor.response).status, 502);
    await settle();
    assert.deepEqual([told, relay.size], [[`reset ${ResetReason.cancelled}`], 0]);
  });
}

Deno.test("a request's body is carried to its end", async () => {
  const { body, told, client, visitor } = await visit({ method: "POST", body: new Blob(["hello"]).stream() });
  assert.deepEqual([new TextDecoder().decode(body[0]), told], ["hello", ["end"]]);
  respond(client, 200, "", "", true);
  assert.equal((await visitor.response).status, 200);
});

Deno.test("a request's body that breaks ends the stream, and the response settles", async () => {
  const body = new ReadableStream({ pull: (controller) => controller.error(new Error("gone")) });
  const { visitor, told, relay } = await visit({ method: "POST", body });
  assert.equal((await visitor.response).status, 502);
  assert.deepEqual([told, relay.size], [[`reset ${ResetReason.cancelled}`], 0]);
});

Deno.test("an answer before the request's end stops the upload when the client wants no more", async () => {
  let cancelled = false;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull: (controller) => controller.enqueue(new Uint8Array(100_000)),
    cancel: () => void (cancelled = true),
  });
  const { visitor, client, relay } = await visit({ method: "POST", body });
  respond(client, 413, "", "too large", true);
  client.reset(ResetReason.none);
  const response = await visitor.response;
  assert.deepEqual([response.status, await response.text()], [413, "too large"]);
  await settle();
  assert.deepEqual([cancelled, relay.size], [true, 0]);
});
