import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { HttpError } from "../../../common/http_error.ts";
import { encodeLatin1 } from "../../../net/http1/mod.ts";
import { BodyCut } from "../../../net/listener/mod.ts";
import { GoAwayReason, INITIAL_WINDOW, OVERDRAFT, ResetReason } from "../../../protocol/mod.ts";
import { createPair, forceResponse, inform, type PairOptions, respond, settle, writeText } from "./_client_end.ts";
import { createExchange, type FakeExchangeOptions } from "./_fake_exchange.ts";
import { LocalPresence } from "../../cluster/mod.ts";
import { tunnelExhausted } from "../errors.ts";
import { Endpoint, Gates } from "../tunnel/endpoint.ts";
import { Traffic } from "../tunnel/gates/traffic.ts";
import { Visitor } from "./visitor.ts";
import { toOpening } from "./visits.ts";

const HEAD = writeText("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
const UPGRADE: [string, string][] = [["Connection", "Upgrade"], ["Upgrade", "chat"]];
const CANCELLED = `reset ${ResetReason.cancelled}`;

interface VisitOptions extends FakeExchangeOptions, PairOptions {
  /** Closes the endpoint with an error. */
  refuse?: () => HttpError;
  onMeter?: () => void;
}

/** An endpoint that counts bytes in `traffic`, and is closed if `refuse` is given. */
function createEndpoint(traffic: Traffic, refuse?: () => HttpError): Endpoint {
  const end = { reason: GoAwayReason.exhausted, text: "" };
  const gates = refuse === undefined ? [] : [() => ({ close: () => ({ refuse, end }) })];
  const tunnel = { traffic, requests: null, expiresAt: null, settings: null, allowance: null };
  return new Endpoint(tunnel, 0, "id", {
    presence: new LocalPresence(),
    gates: new Gates(gates),
    now: () => 0,
    startedAt: 0,
  });
}

/** A visitor whose request has reached the client. */
async function visit(options: VisitOptions = {}) {
  const pair = createPair(options);
  const exchange = createExchange(options);
  const traffic = new Traffic(0, 0);
  traffic.onExhausted = options.onMeter ?? null;
  const visitor = new Visitor(exchange, { kind: "ephemeral", label: "a" });
  visitor.endpoint = createEndpoint(traffic, options.refuse);
  const stream = visitor.stream = pair.relay.open(toOpening(exchange), HEAD, visitor)!;
  visitor.start();
  await settle();
  return {
    ...pair,
    exchange,
    replied: exchange.replied,
    stream,
    client: pair.streams[0],
    metered: () => traffic.used,
    /** Status and code of the relay's own error, if it sent one. */
    refused: () => {
      const { status, block } = exchange.replied, code = /portway-error: (\S+)/i.exec(block)?.[1];
      return code === undefined ? [] : [`${status} ${code}`];
    },
  };
}

async function* pieces(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield await Promise.resolve(encodeLatin1(text));
}

Deno.test("a whole answer is handed over at once, its block as it came and with a length", async () => {
  const { replied, client, relay, metered } = await visit();
  respond(client, 201, "Fine\r\nSet-Cookie: a\r\nset-cookie: b\r\nx: \xe9\r\nkeep-alive: 5\r\n", "hello", true);
  await settle();
  assert.deepEqual(replied, {
    informs: [],
    status: 201,
    block: "Fine\r\nSet-Cookie: a\r\nset-cookie: b\r\nx: \xe9\r\ncontent-length: 5\r\n",
    length: 5,
    body: "hello",
    end: "complete",
    trailers: "",
  });
  assert.deepEqual([relay.size, metered()], [0, 57 + 5]);
});

Deno.test("a length that was stated is passed on with it", async () => {
  const { replied, client } = await visit();
  respond(client, 200, "OK\r\ncontent-length: 9\r\n", "hell", false);
  await settle();
  assert.deepEqual([replied.length, replied.body, replied.end], [9, "hell", null]);
});

Deno.test("interim answers come before the answer, each with its block", async () => {
  const { replied, client } = await visit();
  inform(client, 103, "Early Hints\r\nLink: </a.css>\r\nconnection: close\r\n");
  inform(client, 102, "\r\n");
  respond(client, 200, "\r\n", "x", true);
  await settle();
  assert.deepEqual(replied.informs, ["103 Early Hints\r\nLink: </a.css>\r\n", "102 \r\n"]);
  assert.deepEqual([replied.status, replied.end], [200, "complete"]);
});

Deno.test("trailers follow the body", async () => {
  const { replied, client, exchange, relay } = await visit();
  respond(client, 200, "\r\n", "first,", false);
  await client.write(encodeLatin1("second"));
  client.end(encodeLatin1("x-sum: 1\r\nx-two: \xff\r\n"));
  await exchange.answered;
  assert.deepEqual([replied.body, replied.trailers, replied.end], [
    "first,second",
    "x-sum: 1\r\nx-two: \xff\r\n",
    "complete",
  ]);
  assert.equal(relay.size, 0);
});

Deno.test("malformed trailers break the answer off", async () => {
  const { replied, client, exchange } = await visit();
  respond(client, 200, "\r\n", "first", false);
  client.end(encodeLatin1("x-sum: 1\r\n\r\nHTTP/1.1 200 OK\r\n"));
  await exchange.answered;
  assert.deepEqual([replied.end, replied.trailers], ["cut", ""]);
});

Deno.test("pieces of an answer go out as they come, and give credit back once the visitor has taken them", async () => {
  const { replied, client, exchange, relay } = await visit();
  respond(client, 200, "\r\n", "first", false);
  await settle();
  assert.deepEqual([replied.length, replied.body, replied.end], [null, "first", null]);
  await client.write(new Uint8Array(1_000_000), true);
  await exchange.answered;
  assert.deepEqual([replied.body.length, replied.end, relay.size], [1_000_005, "complete", 0]);
});

Deno.test("a visitor who takes nothing holds the client back at the window and what may be overdrawn", async () => {
  const { client, exchange, replied, metered } = await visit({ stalls: true });
  respond(client, 200, "\r\n", "", false);
  const writing = client.write(new Uint8Array(2_000_000), true);
  await settle();
  assert(metered() <= INITIAL_WINDOW + OVERDRAFT + 100, `${metered()} bytes were taken in`);
  for (; replied.end === null; await settle()) exchange.take();
  await writing;
  assert.equal(replied.body.length, 2_000_000);
});

Deno.test("an answer that waits for its visitor counts until it is taken, or the visitor has left", async () => {
  for (const takes of [true, false]) {
    const { client, exchange, relay, stream } = await visit({ stalls: true });
    respond(client, 200, "\r\n", "", false);
    await client.write(new Uint8Array(INITIAL_WINDOW + OVERDRAFT), true);
    await settle();
    assert.deepEqual([stream.ended, relay.size, relay.flow.peerOverdrawn], [ResetReason.none, 0, OVERDRAFT]);
    if (takes) { for (; exchange.replied.end === null; await settle()) exchange.take(); }
    else exchange.leave();
    await settle();
    assert.equal(relay.flow.peerOverdrawn, 0);
  }
});

Deno.test("a visitor who leaves in the middle of an answer ends the stream", async () => {
  const { client, told, relay, exchange, refused } = await visit();
  respond(client, 200, "\r\n", "first", false);
  await settle();
  exchange.leave();
  await settle();
  assert.deepEqual([told, relay.size, refused()], [[CANCELLED], 0, []]);
});

Deno.test("a visitor who leaves before the answer ends the stream", async () => {
  const { told, relay, exchange } = await visit();
  exchange.leave();
  exchange.leave();
  await settle();
  assert.deepEqual([told, relay.size], [[CANCELLED], 0]);
});

Deno.test("a client that resets in the middle of an answer breaks it off", async () => {
  const { client, exchange, replied } = await visit();
  respond(client, 200, "\r\n", "first", false);
  await settle();
  client.reset(ResetReason.broken, "it broke");
  await exchange.answered;
  assert.deepEqual([replied.body, replied.end], ["first", "cut"]);
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
    const { client, refused } = await visit();
    client.reset(reason, "details of it");
    await settle();
    assert.deepEqual(refused(), [`${status} ${code}`]);
  });
}

Deno.test("whose request was under way when the tunnel's traffic ran out is told so, and not to come again", async () => {
  const { relay, refused } = await visit({ refuse: tunnelExhausted });
  relay.end(GoAwayReason.exhausted, "the traffic is used up");
  await settle();
  assert.deepEqual(refused(), ["410 tunnel_traffic_exhausted"]);
});

/** A visitor whose answer uses the traffic up. */
async function visitLast() {
  let isSpent = false;
  const options = { refuse: tunnelExhausted, onMeter: () => isSpent && pair.relay.end(GoAwayReason.exhausted, "") };
  const pair = await visit(options);
  isSpent = true;
  return pair;
}

Deno.test("a whole answer that uses the traffic up is the last one", async () => {
  const { client, refused, replied } = await visitLast();
  respond(client, 200, "\r\n", "hello", true);
  await settle();
  assert.deepEqual([refused(), replied.body, replied.end], [[], "hello", "complete"]);
});

Deno.test("an answer whose first piece uses the traffic up is refused before it begins", async () => {
  const { client, refused, replied } = await visitLast();
  respond(client, 200, "\r\n", "hello", false);
  await settle();
  assert.deepEqual([refused(), replied.status], [["410 tunnel_traffic_exhausted"], 410]);
});

Deno.test("an interim answer that uses the traffic up is not passed on behind the refusal", async () => {
  const { client, refused, replied } = await visitLast();
  inform(client, 103, "\r\n");
  await settle();
  assert.deepEqual([refused(), replied.informs], [["410 tunnel_traffic_exhausted"], []]);
});

Deno.test("trailers that use the traffic up end a body that was complete", async () => {
  let isSpent = false;
  const options = { refuse: tunnelExhausted, onMeter: () => isSpent && pair.relay.end(GoAwayReason.exhausted, "") };
  const pair = await visit(options);
  respond(pair.client, 200, "\r\n", "hello", false);
  await settle();
  isSpent = true;
  pair.client.end(encodeLatin1("a: b\r\n"));
  await settle();
  assert.deepEqual([pair.refused(), pair.replied.body, pair.replied.end], [[], "hello", "complete"]);
});

const badResponses: [name: string, status: number, block: string][] = [
  ["status 600", 600, "\r\n"],
  ["a line without a colon", 200, "\r\nnonsense\r\n"],
  ["a line break in a value", 200, "\r\na: b\nc: d\r\n"],
  ["no end of its reason phrase", 200, "OK"],
  ["two lengths", 200, "\r\ncontent-length: 1\r\ncontent-length: 1\r\n"],
];

for (const [name, status, block] of badResponses) {
  Deno.test(`an answer with ${name} is 502 and ends its stream, not the session`, async () => {
    const { client, relay, told, refused, replied } = await visit();
    if (status > 599) forceResponse(relay, status, block);
    else respond(client, status, block, "", false);
    await client.write(new Uint8Array(10)).catch(() => {});
    await settle();
    assert.deepEqual([refused(), replied.status], [["502 bad_answer"], 502]);
    assert.deepEqual([relay.size, relay.over, told], [0, false, [CANCELLED]]);
  });
}

Deno.test("an interim answer that is malformed is 502 and ends its stream", async () => {
  const { client, relay, refused, replied } = await visit();
  inform(client, 103, "\r\na: b\nc\r\n");
  respond(client, 200, "\r\n", "x", true);
  await settle();
  assert.deepEqual([refused(), replied.status, replied.informs, relay.size, relay.over], [
    ["502 bad_answer"],
    502,
    [],
    0,
    false,
  ]);
});

for (const [method, status] of [["HEAD", 200], ["GET", 204], ["GET", 304]] as const) {
  Deno.test(`an answer of ${status} to ${method} is given no length`, async () => {
    const { client, replied } = await visit({ method });
    respond(client, status, "\r\n", "", true);
    await settle();
    assert.deepEqual([replied.length, replied.block, replied.end], [null, "\r\n", "complete"]);
  });
}

Deno.test("an answer of 205 keeps its status, and says that it is empty", async () => {
  const { client, replied } = await visit();
  respond(client, 205, "\r\n", "", true);
  await settle();
  assert.deepEqual([replied.status, replied.length, replied.end], [205, 0, "complete"]);
});

Deno.test("a request's body is carried to its end, and its trailers behind it", async () => {
  const plain = await visit({ method: "POST", body: pieces("hello, ", "world") });
  assert.deepEqual([Buffer.concat(plain.body).toString(), plain.told], ["hello, world", ["end"]]);
  respond(plain.client, 200, "\r\n", "", true);
  await settle();
  assert.equal(plain.relay.size, 0);
  const more = await visit({ method: "POST", body: pieces("x"), trailers: "x-sum: 1\r\n" });
  assert.deepEqual(more.told, ["end x-sum: 1\r\n"]);
});

Deno.test("a request's body is read only as fast as the client takes it", async () => {
  let read = 0;
  const body = (async function* () {
    for (;; read++) yield await Promise.resolve(new Uint8Array(10_000));
  })();
  const { stream } = await visit({ method: "POST", body, stalls: true });
  assert(read <= (INITIAL_WINDOW + OVERDRAFT) / 10_000 + 2, `${read} pieces were read`);
  stream.reset(ResetReason.cancelled);
});

Deno.test("a request's body that breaks ends the stream, and nobody waits for an answer", async () => {
  const body = (async function* () {
    yield await Promise.resolve(encodeLatin1("a part"));
    throw new BodyCut("gone");
  })();
  const { told, relay, refused } = await visit({ method: "POST", body });
  assert.deepEqual([told, relay.size, refused()], [[CANCELLED], 0, ["502 service_broke_off"]]);
});

Deno.test("an answer before the request's end stops the upload when the client wants no more", async () => {
  let isStopped = false;
  const body = (async function* () {
    try {
      for (;;) yield await Promise.resolve(new Uint8Array(100_000));
    } finally {
      isStopped = true;
    }
  })();
  const { client, relay, replied, refused } = await visit({ method: "POST", body, stalls: true });
  respond(client, 413, "\r\n", "too large", true);
  client.reset(ResetReason.none);
  await settle();
  assert.deepEqual([replied.status, replied.body, replied.end, refused()], [413, "too large", "complete", []]);
  assert.deepEqual(
    [relay.size, isStopped],
    [0, false],
    "nothing reads the body any more, and its source is the listener's",
  );
});

/** A visitor whose upgrade the client has granted. */
async function upgraded(options: VisitOptions = {}, early = "") {
  const visited = await visit({ fields: UPGRADE, ...options });
  respond(visited.client, 101, "Switching\r\nUpgrade: chat\r\n", early, false);
  await settle();
  const visitorEnd = visited.exchange.visitorEnd!;
  const received: string[] = [];
  const reading = (async () => {
    const memory = new Uint8Array(100_000);
    for (;;) {
      const count = await visitorEnd.read(memory);
      if (count === null) return received.push("end");
      received.push(new TextDecoder().decode(memory.subarray(0, count)));
    }
  })();
  return { ...visited, visitorEnd, received, reading };
}

Deno.test("an upgrade carries bytes both ways, those that came with the answer first", async () => {
  const { visitorEnd, client, received, body, replied, relay, metered } = await upgraded({}, "early,");
  assert.equal(replied.block, "Switching\r\nUpgrade: chat\r\n");
  await visitorEnd.write(encodeLatin1("from the visitor"));
  await client.write(encodeLatin1("from the service"));
  await settle();
  assert.equal(received.join(""), "early,from the service");
  assert.equal(Buffer.concat(body).toString(), "from the visitor");
  assert.deepEqual([relay.size, metered()], [1, 26 + 6 + 16 + 16]);
  visitorEnd.close();
});

Deno.test("an upgrade carries a megabyte each way at once", async () => {
  const { visitorEnd, client, received, reading, body, relay, told } = await upgraded();
  const sent = client.write(new Uint8Array(1_000_000).fill(65), true);
  for (let at = 0; at < 100; at++) await visitorEnd.write(new Uint8Array(10_000).fill(66));
  await visitorEnd.closeWrite();
  await Promise.all([sent, reading]);
  while (told.length === 0) await settle();
  assert.equal(received.join(""), `${"A".repeat(1_000_000)}end`);
  assert(Buffer.concat(body).equals(Buffer.alloc(1_000_000, "B")));
  assert.equal(relay.size, 0);
});

Deno.test("a visitor who ends their side of an upgrade still gets what the service says, and its end", async () => {
  const { visitorEnd, client, told, received, reading, relay } = await upgraded();
  await visitorEnd.closeWrite();
  await settle();
  assert.deepEqual([told, relay.size], [["end"], 1]);
  await client.write(encodeLatin1("last words"), true);
  await reading;
  assert.deepEqual([received, relay.size], [["last words", "end"], 0]);
});

Deno.test("a service that ends its side of an upgrade still gets what the visitor says, and their end", async () => {
  const { visitorEnd, client, told, reading, body, relay } = await upgraded();
  client.end();
  await reading;
  assert.equal(relay.size, 1);
  await visitorEnd.write(encodeLatin1("last words"));
  await visitorEnd.closeWrite();
  await settle();
  assert.deepEqual([Buffer.concat(body).toString(), told, relay.size], ["last words", ["end"], 0]);
});

Deno.test("what the service said last reaches a slow visitor who has ended their side", async () => {
  const { exchange, client, replied, relay } = await visit({ fields: UPGRADE });
  respond(client, 101, "\r\nUpgrade: chat\r\n", "", false);
  await client.write(encodeLatin1("last words"), true);
  await settle();
  assert.equal(replied.status, 101);
  const visitorEnd = exchange.visitorEnd!;
  await visitorEnd.closeWrite();
  await settle();
  assert.equal(exchange.wasCutShort, false);
  const memory = new Uint8Array(100);
  assert.equal(await visitorEnd.read(memory), 10);
  assert.equal(await visitorEnd.read(memory), null);
  assert.equal(relay.size, 0);
});

Deno.test("a service that ends its side with the answer to an upgrade is heard of", async () => {
  const { exchange, client } = await visit({ fields: UPGRADE });
  respond(client, 101, "\r\nUpgrade: chat\r\n", "all", true);
  await settle();
  const memory = new Uint8Array(100), visitorEnd = exchange.visitorEnd!;
  assert.equal(await visitorEnd.read(memory), 3);
  assert.equal(await visitorEnd.read(memory), null);
  visitorEnd.close();
});

Deno.test("a visitor who leaves an upgrade ends the stream", async () => {
  const { visitorEnd, client, told, relay, refused } = await upgraded();
  visitorEnd.close();
  await client.write(encodeLatin1("anyone?"));
  await settle();
  assert.deepEqual([relay.size, refused()], [0, []]);
  assert.deepEqual(told.at(-1), CANCELLED);
});

Deno.test("a reset ends an upgrade for its visitor at once", async () => {
  const { visitorEnd, client, reading, relay, refused } = await upgraded();
  client.reset(ResetReason.broken);
  await reading;
  await assert.rejects(visitorEnd.write(encodeLatin1("anyone?")));
  assert.deepEqual([relay.size, refused()], [0, []]);
});

Deno.test("a visitor of an upgrade who takes nothing holds the service back at its window", async () => {
  const { exchange, client, metered } = await visit({ fields: UPGRADE });
  respond(client, 101, "\r\nUpgrade: chat\r\n", "", false);
  void client.write(new Uint8Array(1_000_000)).catch(() => {});
  await settle();
  assert(metered() < 64 * 1024 + 200, `${metered()} bytes were taken in`);
  exchange.visitorEnd!.close();
  await settle();
});

Deno.test("an upgrade that is declined is a plain answer", async () => {
  const { client, replied, relay } = await visit({ fields: UPGRADE });
  respond(client, 426, "\r\nupgrade: other\r\n", "no", true);
  await settle();
  assert.deepEqual([replied.status, replied.body, replied.end, relay.size], [426, "no", "complete", 0]);
});

Deno.test("an upgrade that nobody asked for ends the session, whose client is not to be trusted", async () => {
  const { relay, replied } = await visit();
  forceResponse(relay, 101, "\r\nUpgrade: chat\r\n");
  await settle();
  assert.deepEqual([relay.over, replied.status], [true, 503]);
});
