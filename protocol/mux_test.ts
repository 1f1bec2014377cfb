import assert from "node:assert/strict";
import {
  answerEmpty,
  createLink,
  GET,
  HEAD,
  HEAD_TEXT,
  ignore,
  Link,
  NOTHING,
  patterned,
  POST,
  turn,
  UPGRADING,
  visitor,
  writeText,
} from "./_link.ts";
import { END, FrameType, RAW, UPGRADE } from "./frames.ts";
import { writeFrameHead } from "./outbox.ts";
import { FRAME_HEAD, HEARTBEAT_MS, MAX_HEAD, MAX_INTERIM, MAX_REASON, MAX_SMALL_BLOCK, SILENCE_MS } from "./limits.ts";
import { Mux } from "./mux.ts";
import { GoAwayReason, ResetReason } from "./reasons.ts";
import type { MuxStream } from "./stream.ts";
import { Opening, StreamEnded, type StreamOpening } from "./types.ts";

/** One frame as bytes. */
function frame(type: FrameType, flags: number, stream: number, payload: Uint8Array = NOTHING): Uint8Array {
  const bytes = new Uint8Array(FRAME_HEAD + payload.length);
  writeFrameHead(bytes, 0, payload.length, type, flags, stream);
  bytes.set(payload, FRAME_HEAD);
  return bytes;
}

/** What `receive` is given for all of `bytes`. */
const whole = (bytes: Uint8Array): [Uint8Array, number, number] => [bytes, 0, bytes.length];

const ascii = (text: string) => new TextEncoder().encode(text);

Deno.test("Mux carries a request's head byte for byte and its flags", async () => {
  const heads: [string, StreamOpening][] = [];
  const link = new Link({
    onOpen(_stream, bytes, start, end, opening) {
      heads.push([String.fromCharCode(...bytes.subarray(start, end)), opening]);
      return ignore();
    },
  });
  link.relay.open(GET, HEAD, visitor());
  link.relay.open(UPGRADING, HEAD, visitor());
  await link.settle();
  assert.deepEqual(heads, [[HEAD_TEXT, GET], [HEAD_TEXT, UPGRADING]]);
});

Deno.test("Mux.open refuses a head beyond the limit, and the session goes on", async () => {
  const { link, asked } = createLink();
  assert.throws(() => link.relay.open(GET, writeText("x".repeat(MAX_HEAD + 1)), visitor()), RangeError);
  assert.equal(link.relay.size, 0);
  link.relay.open(GET, writeText("x".repeat(MAX_HEAD)), visitor());
  await link.settle();
  assert.equal(asked.length, 1);
});

Deno.test("Mux carries an answer that is whole in one frame, and both ends forget the stream", async () => {
  const { link, asked } = createLink();
  const answers: unknown[] = [];
  const stream = link.relay.open(
    GET,
    HEAD,
    visitor({
      onResponse(status, bytes, headStart, headEnd, payloadEnd, end) {
        const text = (from: number, to: number) => new TextDecoder().decode(bytes.subarray(from, to));
        answers.push([status, text(headStart, headEnd), text(headEnd, payloadEnd), end]);
      },
    }),
  );
  await link.settle();
  const [head, body] = [ascii("..a: b\r\n.."), ascii("<hello>")];
  asked[0].respond(201, head, 2, 8, body, 1, 6, true);
  await link.settle();
  assert.deepEqual(answers, [[201, "a: b\r\n", "hello", true]]);
  assert.deepEqual([link.relay.size, link.client.size], [0, 0]);
  assert.equal(stream!.ended, ResetReason.none);
  assert.equal(asked[0].ended, ResetReason.none);
  assert.equal(asked[0].status, 201);
});

Deno.test("Mux counts heads and bodies of a stream alike on both ends", async () => {
  const { link, asked } = createLink();
  const stream = link.relay.open(POST, HEAD, visitor())!;
  await link.settle();
  await stream.write(patterned(1000, 1), true);
  const head = ascii("a: b\r\n");
  asked[0].respond(200, head, 0, head.length, NOTHING, 0, 0, false);
  await asked[0].write(patterned(500, 2), true);
  await link.settle();
  assert.equal(stream.carried, HEAD_TEXT.length + head.length + 1500);
  assert.equal(asked[0].carried, stream.carried);
});

const resetCases: [name: string, opening: StreamOpening, prepare: (relay: MuxStream, client: MuxStream) => void][] = [
  ["before the answer", GET, () => {}],
  ["while the request's body is sent", POST, (relay) => void relay.write(patterned(10, 1))],
  ["after the request's end", POST, (relay) => relay.end()],
  ["while the answer's body is sent", GET, (_relay, client) => answerEmpty(client, false)],
  ["after the answer, before the request's end", POST, (_relay, client) => answerEmpty(client)],
  ["with both bodies under way", POST, (_relay, client) => answerEmpty(client, false)],
  ["on a raw stream", Opening.raw, (relay, client) => (relay.send(patterned(1, 1), 0, 1), client.end())],
  ["on an upgrade", UPGRADING, (_relay, client) => client.respond(101, NOTHING, 0, 0, NOTHING, 0, 0, false)],
];

for (const [name, opening, prepare] of resetCases) {
  for (const by of ["relay", "client"] as const) {
    Deno.test(`MuxStream.reset by the ${by} ${name} leaves nothing open on either end`, async () => {
      const told: unknown[] = [];
      const onReset = (reason: ResetReason, text: string) => told.push([reason, text]);
      const { link, asked } = createLink({}, { onReset });
      const stream = link.relay.open(opening, HEAD, visitor({ onReset }))!;
      const finished: string[] = [];
      await link.settle();
      stream.onFinish = () => finished.push("relay");
      asked[0].onFinish = () => finished.push("client");
      prepare(stream, asked[0]);
      await link.settle();
      (by === "relay" ? stream : asked[0]).reset(ResetReason.broken, "why not");
      await link.settle();
      assert.deepEqual([link.relay.size, link.client.size], [0, 0]);
      assert.deepEqual(told, [[ResetReason.broken, "why not"]]);
      assert.deepEqual(finished.sort(), ["client", "relay"]);
      assert.deepEqual(link.ends, []);
    });
  }
}

Deno.test("Mux lets frames pass that cross a reset on the way", async () => {
  const { link, asked } = createLink();
  const stream = link.relay.open(POST, HEAD, visitor())!;
  await link.settle();
  answerEmpty(asked[0], false);
  asked[0].write(patterned(100, 1), true);
  asked[0].reset(ResetReason.cancelled);
  stream.write(patterned(100, 1));
  stream.reset(ResetReason.cancelled);
  await link.settle();
  assert.deepEqual([link.relay.size, link.client.size, link.ends], [0, 0, []]);
});

Deno.test("an answer other than 101 to an upgrade is an ordinary one, and nothing more comes from the relay", async () => {
  for (const whole of [true, false]) {
    const { link, asked } = createLink();
    let answer = "";
    const onData = (piece: Uint8Array, end: boolean) => answer += `${String.fromCharCode(...piece)} ${end}`;
    const stream = link.relay.open(UPGRADING, HEAD, visitor({ onData }))!;
    await link.settle();
    answerEmpty(asked[0], whole);
    await link.settle();
    if (!whole) assert.throws(() => stream.send(patterned(1, 1), 0, 1), /cannot send on stream 1/);
    if (!whole) await asked[0].write(ascii("no"), true);
    await link.settle();
    assert.equal(answer, whole ? "" : "no true");
    assert.deepEqual([link.relay.size, link.client.size, link.ends], [0, 0, []]);
  }
});

Deno.test("interim answers come before the final one, each with its block", async () => {
  const told: unknown[] = [];
  const { link, asked } = createLink();
  const onInterim = (status: number, bytes: Uint8Array, start: number, end: number) =>
    told.push([status, String.fromCharCode(...bytes.subarray(start, end))]);
  link.relay.open(GET, HEAD, visitor({ onInterim, onResponse: (status) => told.push(status) }));
  link.relay.open(GET, HEAD, visitor({ onResponse: (status) => told.push(status) }));
  await link.settle();
  const block = ascii("..Early Hints\r\nlink: </a>\r\n");
  for (const stream of asked) stream.inform(103, block, 2, block.length);
  asked[0].inform(102, block, 0, 0);
  asked.forEach((stream) => answerEmpty(stream));
  await link.settle();
  assert.deepEqual(told, [[103, "Early Hints\r\nlink: </a>\r\n"], [102, ""], 200, 200]);
  assert.deepEqual([link.relay.size, link.ends], [0, []]);
});

Deno.test("trailers end a body, both ways; who does not ask for them hears of the end", async () => {
  const told: unknown[] = [];
  const onData = (piece: Uint8Array, end: boolean) => told.push([piece.length, end]);
  const onTrailers = (bytes: Uint8Array, start: number, end: number) =>
    told.push(String.fromCharCode(...bytes.subarray(start, end)));
  const { link, asked } = createLink({}, { onData });
  const stream = link.relay.open(POST, HEAD, visitor({ onTrailers }))!;
  await link.settle();
  stream.end(ascii("x-sum: 1\r\n"));
  answerEmpty(asked[0], false);
  asked[0].end(ascii("x-sum: 2\r\n"));
  await link.settle();
  assert.deepEqual(told, [[0, true], "x-sum: 2\r\n"]);
  assert.deepEqual([link.relay.size, link.client.size, link.ends], [0, 0, []]);
});

Deno.test("upgrades and plain requests are counted separately", async () => {
  const { link, asked } = createLink({ maxStreams: 1, maxUpgrades: 2 });
  const open = (opening: StreamOpening) => link.relay.open(opening, HEAD, visitor());
  assert.notEqual(open(UPGRADING), null);
  assert.notEqual(open(UPGRADING), null);
  assert.equal(open(UPGRADING), null);
  assert.notEqual(open(GET), null);
  assert.equal(open(GET), null);
  await link.settle();
  asked[0].reset(ResetReason.cancelled);
  await link.settle();
  assert.notEqual(open(UPGRADING), null);
  assert.equal(open(GET), null);
});

Deno.test("Mux.receive leaves a frame that is not whole to the next call, wherever it is cut", () => {
  const bytes = Uint8Array.from([
    ...frame(FrameType.request, 0, 1, ascii(HEAD_TEXT)),
    ...frame(FrameType.data, 0, 1, ascii("abc")),
    ...frame(FrameType.data, END, 1, ascii("de")),
  ]);
  for (let cut = 0; cut <= bytes.length; cut++) {
    let body = "";
    const client = new Mux({
      maxStreams: 10,
      maxUpgrades: 10,
      transport: { send() {} },
      onEnd: (_reason, text) => assert.fail(text),
      onOpen: () => ignore({ onData: (piece) => body += String.fromCharCode(...piece) }),
    });
    const taken = client.receive(bytes, 0, cut);
    assert(taken <= cut);
    assert.equal(client.receive(bytes, taken, bytes.length), bytes.length);
    assert.equal(body, "abcde");
  }
});

Deno.test("Mux cuts a reason at a character's end to what the wire allows", async () => {
  const told: string[] = [];
  const { link } = createLink({}, { onReset: (_reason, text) => told.push(text) });
  const stream = link.relay.open(GET, HEAD, visitor())!;
  await link.settle();
  stream.reset(ResetReason.broken, "€".repeat(MAX_REASON));
  await link.settle();
  assert.deepEqual(told, ["€".repeat(Math.floor(MAX_REASON / 3))]);
});

Deno.test("MuxStream writes that wait are woken by a reset with StreamEnded and its reason", async () => {
  const { link, asked } = createLink();
  const stream = link.relay.open(POST, HEAD, visitor())!;
  await link.settle();
  const writing = assert.rejects(
    stream.write(patterned(2_000_000, 1), true),
    (error) => error instanceof StreamEnded && error.reason === ResetReason.refused,
  );
  await link.settle();
  asked[0].reset(ResetReason.refused);
  await link.settle();
  await writing;
});

Deno.test("Mux.open gives null when as many streams are open as may be, and works again after one ended", async () => {
  const { link, asked } = createLink({ maxStreams: 2 });
  link.relay.open(GET, HEAD, visitor());
  link.relay.open(GET, HEAD, visitor());
  assert.equal(link.relay.open(GET, HEAD, visitor()), null);
  await link.settle();
  answerEmpty(asked[0]);
  await link.settle();
  assert.notEqual(link.relay.open(GET, HEAD, visitor()), null);
});

Deno.test("Mux.open gives null while a peer that does not read has megabytes waiting", () => {
  const sent: Uint8Array[] = [];
  const mux = new Mux({
    maxStreams: 1000,
    maxUpgrades: 1000,
    transport: { send: (buffer, start, end) => (sent.push(buffer.slice(start, end)), new Promise(() => {})) },
    onEnd() {},
  });
  const head = writeText("x".repeat(32 * 1024));
  let opened = 0;
  while (opened < 1000) {
    const stream = mux.open(GET, head, visitor());
    if (stream === null) break;
    stream.reset(ResetReason.cancelled);
    opened++;
  }
  assert(opened > 100 && opened < 150, `${opened} heads of 32 KiB were taken`);
  mux.end(GoAwayReason.lost, "done");
});

Deno.test("Mux as client resets a stream too many with `limit`, and the others go on", async () => {
  const asked: MuxStream[] = [];
  const sent: Uint8Array[] = [];
  const client = new Mux({
    maxStreams: 1,
    maxUpgrades: 1,
    transport: { send: (buffer, start, end) => void sent.push(buffer.slice(start, end)) },
    onEnd: () => assert.fail("the session ended"),
    onOpen(stream) {
      asked.push(stream);
      return ignore();
    },
  });
  client.receive(...whole(frame(FrameType.request, END, 1, ascii(HEAD_TEXT))));
  client.receive(...whole(frame(FrameType.request, END, 2, ascii(HEAD_TEXT))));
  await turn();
  assert.equal(asked.length, 1);
  assert.equal(client.size, 1);
  const text = "too many simultaneous requests";
  assert.deepEqual(sent, [frame(FrameType.reset, 0, 2, Uint8Array.of(0, ResetReason.limit, ...ascii(text)))]);
});

Deno.test("Mux starts ids anew after 2^32 - 1 and passes over those still open", () => {
  const sent: Uint8Array[] = [];
  const transport = {
    send: (buffer: Uint8Array, start: number, end: number) => void sent.push(buffer.slice(start, end)),
  };
  const relay = new Mux({
    maxStreams: 10,
    maxUpgrades: 10,
    lastId: 0xfffffffd,
    transport,
    onEnd: () => assert.fail("it ended"),
  });
  const open = () => relay.open(GET, HEAD, visitor())!.id;
  assert.deepEqual([open(), open(), open(), open()], [0xfffffffe, 0xffffffff, 1, 2]);
  relay.receive(...whole(frame(FrameType.response, END, 0xffffffff, Uint8Array.of(0, 200, 0, 0))));
  assert.equal(relay.size, 3);
  // Of the ids before the turn, those long gone are still known to have been.
  relay.receive(...whole(frame(FrameType.credit, 0, 0xffffffff, Uint8Array.of(0, 0, 0, 1))));
  assert.equal(relay.over, false);
});

Deno.test("Mux as client follows ids around the circle and refuses those that come out of turn", () => {
  const ends: string[] = [];
  const createClient = () =>
    new Mux({
      maxStreams: 100,
      maxUpgrades: 100,
      transport: { send() {} },
      onEnd: (_reason, text) => ends.push(text),
      onOpen: () => ignore(),
    });
  const ask = (client: Mux, id: number) =>
    client.receive(...whole(frame(FrameType.request, END, id, ascii(HEAD_TEXT))));
  const client = createClient();
  for (const id of [1, 5, 0x7fffffff, 0xfffffffe, 0xffffffff, 1 + 1, 3]) ask(client, id);
  assert.deepEqual([client.size, ends], [7, []]);
  client.receive(...whole(frame(FrameType.reset, 0, 3, Uint8Array.of(0, 1))));
  ask(client, 3);
  assert.deepEqual(ends, ["stream 3 is out of order"]);
  ask(createClient(), 0xffffffff);
  assert.deepEqual(ends[1], "stream 4294967295 is out of order");
});

Deno.test("Mux.beat pings a silent peer, takes any message for life, and gives up after long silence", async () => {
  let time = 0;
  const { link } = createLink({ now: () => time });
  const beatAt = async (ms: number) => {
    time = ms;
    link.relay.beat();
    await turn();
  };
  await beatAt(HEARTBEAT_MS - 1);
  assert.equal(link.toClient.messages.length, 0);
  await beatAt(HEARTBEAT_MS);
  await beatAt(HEARTBEAT_MS + 1000);
  assert.deepEqual(link.toClient.messages, [frame(FrameType.ping, 0, 0, new Uint8Array(8))]);
  await link.settle();
  await beatAt(HEARTBEAT_MS + 1000 + HEARTBEAT_MS - 1);
  assert.equal(link.toClient.messages.length, 0, "the PONG counted as life");
  await beatAt(HEARTBEAT_MS + 1000 + SILENCE_MS - 1);
  assert.equal(link.relay.over, false);
  await beatAt(HEARTBEAT_MS + 1000 + SILENCE_MS);
  assert.deepEqual(link.ends, [{
    side: "relay",
    reason: GoAwayReason.lost,
    text: "the peer did not respond to heartbeats",
  }]);
});

Deno.test("Mux holds no buffer for PING and PONG: thousands of idle sessions beat in one turn", () => {
  let time = 0;
  const { link } = createLink({ now: () => time });
  time = HEARTBEAT_MS;
  link.relay.beat();
  assert.equal(link.toClient.messages.length, 1);
  assert.equal(link.relay.outbox.buffer.length, 0);
  link.client.receive(...whole(link.toClient.take()!));
  assert.equal(link.toRelay.messages.length, 1);
  assert.equal(link.client.outbox.buffer.length, 0);
});

Deno.test("Mux answers a PING with its own bytes", async () => {
  const { link } = createLink();
  link.client.receive(...whole(frame(FrameType.ping, 0, 0, ascii("12345678"))));
  await turn();
  assert.deepEqual(link.toRelay.messages, [frame(FrameType.pong, 0, 0, ascii("12345678"))]);
});

Deno.test("Mux has one answer to PINGs waiting at a time, so they cannot fill memory", async () => {
  let time = 0;
  const { link } = createLink({ slow: true, now: () => time });
  const ping = frame(FrameType.ping, 0, 0, new Uint8Array(8));
  const many = new Uint8Array(ping.length * 9000);
  for (let at = 0; at < many.length; at += ping.length) many.set(ping, at);
  for (let count = 0; count < 30; count++) {
    link.relay.receive(...whole(many));
    await turn();
    link.relay.beat();
    time += 1000;
  }
  assert.equal(link.relay.over, false);
  assert(link.relay.outbox.used < 100, `${link.relay.outbox.used} bytes wait`);
  assert.equal(link.toClient.messages.length, 1);
});

const floods: [name: string, bytes: Uint8Array][] = [
  ["PING", frame(FrameType.ping, 0, 0, new Uint8Array(8))],
  ["PONG", frame(FrameType.pong, 0, 0, new Uint8Array(8))],
  ["CREDIT of nothing", frame(FrameType.credit, 0, 1, new Uint8Array(4))],
  ["CREDIT of nothing taken in", frame(FrameType.credit, 0, 0, new Uint8Array(4))],
  ["RESET of a stream that is gone", frame(FrameType.reset, 0, 2, Uint8Array.of(0, 1))],
  ["DATA without a byte", frame(FrameType.data, 0, 1)],
];

for (const [name, bytes] of floods) {
  Deno.test(`Mux ends a session that sends nothing but ${name}, and puts up with thousands a second`, async () => {
    const { link, asked } = createLink();
    for (let count = 0; count < 2; count++) link.relay.open(POST, HEAD, visitor());
    await link.settle();
    answerEmpty(asked[0], false);
    asked[1].reset(ResetReason.cancelled);
    await link.settle();
    const send = (count: number) => {
      for (let sent = 0; sent < count; sent++) link.relay.receive(...whole(bytes));
    };
    for (let second = 0; second < 3; second++) {
      send(5000);
      link.relay.beat();
    }
    assert.equal(link.relay.over, false);
    send(20_000);
    assert.deepEqual([link.ends[0].reason, link.ends[0].text], [
      GoAwayReason.protocolError,
      "too many frames without content",
    ]);
  });
}

Deno.test("Mux.endIdle ends streams on which nothing moved, and only those", async () => {
  const told: string[] = [];
  const { link, asked } = createLink({}, { onReset: (reason) => told.push(`client ${reason}`) });
  const open = (name: string) =>
    link.relay.open(POST, HEAD, visitor({ onReset: (reason) => told.push(`${name} ${reason}`) }))!;
  const [quiet, sending, receiving] = [open("quiet"), open("sending"), open("receiving")];
  await link.settle();
  answerEmpty(asked[2], false);
  for (let count = 0; count < 3; count++) {
    await sending.write(patterned(1, 1));
    await asked[2].write(patterned(1, 1));
    await link.settle();
    link.relay.endIdle(2);
  }
  assert.deepEqual([quiet.ended, sending.ended, receiving.ended], [ResetReason.idle, null, null]);
  await link.settle();
  assert.deepEqual(told, [`quiet ${ResetReason.idle}`, `client ${ResetReason.idle}`]);
});

Deno.test("Mux.endIdle leaves upgrades alone once they are granted", async () => {
  const { link, asked } = createLink();
  const open = () => link.relay.open(UPGRADING, HEAD, visitor())!;
  const [accepted, waiting] = [open(), open()];
  await link.settle();
  asked[0].respond(101, NOTHING, 0, 0, NOTHING, 0, 0, false);
  await link.settle();
  for (let count = 0; count < 3; count++) link.relay.endIdle(1);
  assert.deepEqual([accepted.ended, waiting.ended], [null, ResetReason.idle]);
});

Deno.test("Mux.endIdle ends an upgrade of which one end has gone and the other says nothing", async () => {
  const { link, asked } = createLink();
  const stream = link.relay.open(UPGRADING, HEAD, visitor())!;
  await link.settle();
  asked[0].respond(101, NOTHING, 0, 0, NOTHING, 0, 0, false);
  await link.settle();
  stream.end();
  for (let count = 0; count < 2; count++) link.relay.endIdle(1);
  assert.equal(stream.ended, ResetReason.idle);
});

Deno.test("Mux.endIdle tells a stream once, even when telling one of them ends the session", async () => {
  const { link } = createLink();
  let resets = 0;
  const onReset = () => {
    resets++;
    link.relay.end(GoAwayReason.closed, "");
  };
  for (let count = 0; count < 3; count++) link.relay.open(GET, HEAD, visitor({ onReset }));
  link.relay.endIdle(0);
  await link.settle();
  assert.equal(resets, 3);
});

Deno.test("Mux.sendGoAway tells the peer, and what is in flight goes on", async () => {
  const told: unknown[] = [];
  const { link, asked } = createLink({ onGoAway: (side, reason, text) => told.push([side, reason, text]) });
  let status = 0;
  link.relay.open(GET, HEAD, visitor({ onResponse: (code) => status = code }));
  link.relay.sendGoAway(GoAwayReason.draining, "restart");
  await link.settle();
  answerEmpty(asked[0]);
  await link.settle();
  assert.deepEqual(told, [["client", GoAwayReason.draining, "restart"]]);
  assert.deepEqual([status, link.ends], [200, []]);
});

Deno.test("Mux takes reasons it does not know for the plainest of their kind", async () => {
  const told: unknown[] = [];
  const { link } = createLink({ onGoAway: (side, reason) => told.push([side, reason]) });
  link.relay.open(GET, HEAD, visitor({ onReset: (reason) => told.push(reason) }));
  link.relay.receive(...whole(frame(FrameType.reset, 0, 1, Uint8Array.of(0x7f, 0xff))));
  link.relay.receive(...whole(frame(FrameType.goAway, 0, 0, Uint8Array.of(0x7f, 0xff))));
  await link.settle();
  assert.deepEqual(told, [ResetReason.cancelled, ["relay", GoAwayReason.closed]]);
});

Deno.test("Mux.end resets every stream, tells the peer why, and calls onEnd once, last", async () => {
  const order: string[] = [];
  const transport = { send() {} };
  const relay = new Mux({
    maxStreams: 10,
    maxUpgrades: 10,
    transport,
    onEnd: (reason, text) => order.push(`end ${reason} ${text}`),
  });
  const streams = [1, 2].map((name) =>
    relay.open(POST, HEAD, visitor({ onReset: (reason, text) => order.push(`${name} ${reason} ${text}`) }))!
  );
  const writing = assert.rejects(streams[0].write(patterned(2_000_000, 1)), StreamEnded);
  relay.end(GoAwayReason.expired, "over");
  relay.end(GoAwayReason.closed, "again");
  await writing;
  assert.deepEqual(order, ["1 6 over", "2 6 over", `end ${GoAwayReason.expired} over`]);
  assert.deepEqual([relay.size, relay.over], [0, true]);
  assert.equal(relay.open(GET, HEAD, visitor()), null);
  relay.receive(...whole(frame(FrameType.ping, 0, 0, new Uint8Array(8))));
  relay.beat();
  assert.equal(order.length, 3);
});

Deno.test("Mux.end says GOAWAY on the wire, except when the connection is lost", async () => {
  for (const [reason, messages] of [[GoAwayReason.replaced, 1], [GoAwayReason.lost, 0]] as const) {
    const { link } = createLink();
    link.relay.end(reason, "x");
    await turn();
    assert.equal(link.toClient.messages.length, messages);
  }
});

Deno.test("MuxStream calls have no effect, or throw StreamEnded, once the session is over", async () => {
  const { link } = createLink();
  const stream = link.relay.open(UPGRADING, HEAD, visitor())!;
  await link.settle();
  link.relay.end(GoAwayReason.lost, "");
  stream.reset(ResetReason.cancelled);
  stream.end();
  stream.consumed(1_000_000);
  answerEmpty(stream);
  await assert.rejects(stream.write(patterned(1, 1)), StreamEnded);
  assert.equal(stream.send(patterned(1, 1), 0, 1), 0);
  await link.settle();
  assert.equal(link.toClient.messages.length, 0);
});

/** What one bad frame does, as the relay reads it with stream 1 open, or as the client does. */
const violations: [name: string, at: "relay" | "client", bytes: Uint8Array, why: RegExp][] = [
  ["a length beyond any frame", "relay", frame(FrameType.data, 0, 1).with(0, 0xff), /too large/],
  ["an unknown type", "relay", frame(99 as FrameType, 0, 1), /type 99 is unknown/],
  ["an unknown type on a stream that ended", "relay", frame(99 as FrameType, 0, 1), /type 99 is unknown/],
  ["an unknown type on stream 0", "relay", frame(99 as FrameType, 0, 0), /needs a stream/],
  ["a stream that was never opened", "relay", frame(FrameType.data, 0, 7), /stream 7 was never opened/],
  ["a stream of the far half", "relay", frame(FrameType.data, 0, 0xfffffff0), /never opened/],
  ["DATA on stream 0", "relay", frame(FrameType.data, 0, 0), /needs a stream/],
  ["REQUEST on stream 0", "client", frame(FrameType.request, 0, 0, ascii(HEAD_TEXT)), /needs a stream/],
  ["PING on a stream", "relay", frame(FrameType.ping, 0, 1, new Uint8Array(8)), /type 7 is unknown/],
  ["a NOTICE that nobody asked for", "relay", frame(FrameType.notice, 0, 0, Uint8Array.of(0, 1)), /ask for notices/],
  ["GOAWAY on a stream", "relay", frame(FrameType.goAway, 0, 1, Uint8Array.of(0, 0)), /type 9 is unknown/],
  ["a short PING", "relay", frame(FrameType.ping, 0, 0, new Uint8Array(7)), /PING holds 8/],
  ["a REQUEST from the client", "relay", frame(FrameType.request, 0, 9, ascii(HEAD_TEXT)), /only the relay opens/],
  ["DATA before RESPONSE", "relay", frame(FrameType.data, 0, 1, patterned(1, 1)), /a body before its response/],
  ["TRAILERS before RESPONSE", "relay", frame(FrameType.trailers, 0, 1), /a body before its response/],
  [
    "101 to a plain request",
    "relay",
    frame(FrameType.response, 0, 1, Uint8Array.of(0, 101, 0, 0)),
    /no upgrade|101 without/,
  ],
  [
    "an interim answer with END",
    "relay",
    frame(FrameType.response, END, 1, Uint8Array.of(0, 103, 0, 0)),
    /neither END/,
  ],
  [
    "an interim answer with a body",
    "relay",
    frame(FrameType.response, 0, 1, Uint8Array.of(0, 103, 0, 0, 1)),
    /nor a body/,
  ],
  ["a status below 100", "relay", frame(FrameType.response, 0, 1, Uint8Array.of(0, 99, 0, 0)), /status of 99/],
  ["a raw stream with END", "client", frame(FrameType.request, END | RAW, 9), /no END/],
  ["a raw stream that is an upgrade", "client", frame(FrameType.request, UPGRADE | RAW, 9), /no upgrade|101 without/],
  ["an upgrade with END", "client", frame(FrameType.request, END | UPGRADE, 9, ascii(HEAD_TEXT)), /no END/],
  ["a RESPONSE of three bytes", "relay", frame(FrameType.response, 0, 1, Uint8Array.of(0, 200, 0)), /cut short/],
  [
    "a RESPONSE whose head is longer than it",
    "relay",
    frame(FrameType.response, 0, 1, Uint8Array.of(0, 200, 0, 1)),
    /head/,
  ],
  ["an empty RESET", "relay", frame(FrameType.reset, 0, 1), /wrong length/],
  ["a RESET with a long text", "relay", frame(FrameType.reset, 0, 1, new Uint8Array(3 + MAX_REASON)), /wrong length/],
  ["an empty GOAWAY", "relay", frame(FrameType.goAway, 0, 0), /wrong length/],
  ["a CREDIT of three bytes", "relay", frame(FrameType.credit, 0, 1, new Uint8Array(3)), /CREDIT holds 4/],
  ["more taken in than was sent", "relay", frame(FrameType.credit, 0, 0, patterned(4, 1)), /acknowledged more bytes/],
  ["what was taken in in three bytes", "client", frame(FrameType.credit, 0, 0, new Uint8Array(3)), /CREDIT holds 4/],
  ["more credit than any window", "relay", frame(FrameType.credit, 0, 1, patterned(4, 255)), /too much credit/],
  [
    "a RESPONSE from the relay",
    "client",
    frame(FrameType.response, 0, 1, Uint8Array.of(0, 200, 0, 0)),
    /only the client responds/,
  ],
  ["a stream opened twice", "client", frame(FrameType.request, 0, 1, ascii(HEAD_TEXT)), /open already/],
  ["a head beyond the limit", "client", frame(FrameType.request, 0, 9, new Uint8Array(MAX_HEAD + 1)), /too large/],
];

for (const [name, at, bytes, why] of violations) {
  Deno.test(`Mux ends the session, and no other, at ${name}`, async () => {
    const { link, asked } = createLink();
    const other = createLink();
    const resets: ResetReason[] = [];
    const stream = link.relay.open(POST, HEAD, visitor({ onReset: (reason) => resets.push(reason) }))!;
    other.link.relay.open(GET, HEAD, visitor());
    await Promise.all([link.settle(), other.link.settle()]);
    if (name.includes("that ended")) {
      answerEmpty(asked[0]);
      stream.end();
      await link.settle();
    }
    link[at].receive(...whole(bytes));
    await link.settle();
    const end = link.ends.find(({ side }) => side === at)!;
    assert.equal(end.reason, GoAwayReason.protocolError);
    assert.match(end.text, why);
    assert.equal(link[at].size, 0);
    if (at === "relay" && stream.ended !== ResetReason.none) assert.deepEqual(resets, [ResetReason.sessionLost]);
    assert.deepEqual([other.link.ends, other.link.relay.size, other.link.client.size], [[], 1, 1]);
  });
}

/** Violations that need the answer to have begun. */
const afterAnswer: [name: string, frames: Uint8Array[], why: RegExp][] = [
  ["a second RESPONSE", [frame(FrameType.response, 0, 1, Uint8Array.of(0, 200, 0, 0))], /a second response/],
  ["DATA after END", [frame(FrameType.data, END, 1), frame(FrameType.data, 0, 1)], /a body after its end/],
  ["DATA after TRAILERS", [frame(FrameType.trailers, 0, 1), frame(FrameType.data, 0, 1)], /a body after its end/],
  ["TRAILERS beyond the limit", [frame(FrameType.trailers, 0, 1, new Uint8Array(MAX_SMALL_BLOCK + 1))], /too large/],
  [
    "more than the credit and what may be overdrawn",
    Array.from({ length: 17 }, (_, seed) => frame(FrameType.data, 0, 1, patterned(65_536, seed))),
    /credit/,
  ],
  ["a piece too large", [frame(FrameType.data, 0, 1, patterned(65_537, 1))], /chunk of 65537 bytes is too large/],
];

for (const [name, frames, why] of afterAnswer) {
  Deno.test(`Mux ends the session at ${name}`, async () => {
    const { link, asked } = createLink();
    link.relay.open(POST, HEAD, visitor());
    await link.settle();
    answerEmpty(asked[0], false);
    await link.settle();
    for (const bytes of frames) link.relay.receive(...whole(bytes));
    assert.equal(link.ends[0]?.reason, GoAwayReason.protocolError);
    assert.match(link.ends[0].text, why);
  });
}

Deno.test("Mux ends the session at more interim answers than it puts up with, and at one too large", async () => {
  for (
    const [count, size, why] of [[MAX_INTERIM + 1, 0, /too many interim/], [
      1,
      MAX_SMALL_BLOCK + 1,
      /too large/,
    ]] as const
  ) {
    const { link, asked } = createLink();
    link.relay.open(GET, HEAD, visitor());
    await link.settle();
    const block = new Uint8Array(4 + size);
    block.set([0, 103, size >> 8, size & 0xff]);
    for (let sent = 0; sent < count; sent++) link.relay.receive(...whole(frame(FrameType.response, 0, 1, block)));
    assert.equal(asked.length, 1);
    assert.match(link.ends.find(({ side }) => side === "relay")!.text, why);
  }
});

Deno.test("Mux as client ends the session at what comes through an upgrade before it is granted", async () => {
  const { link } = createLink();
  link.relay.open(UPGRADING, HEAD, visitor());
  await link.settle();
  link.client.receive(...whole(frame(FrameType.data, 0, 1, patterned(1, 1))));
  assert.match(link.ends[0].text, /a body before its response/);
});

for (const type of ["response", "trailers"] as const) {
  Deno.test(`Mux ends the session at ${type} on a raw stream`, async () => {
    const { link } = createLink();
    link.relay.open(Opening.raw, null, visitor());
    await link.settle();
    link.relay.receive(...whole(frame(FrameType[type], 0, 1, Uint8Array.of(0, 200, 0, 0))));
    assert.equal(link.ends[0]?.reason, GoAwayReason.protocolError);
  });
}

Deno.test("Mux reads nothing behind a frame that broke the protocol", () => {
  const asked: number[] = [];
  const client = new Mux({
    maxStreams: 10,
    maxUpgrades: 10,
    transport: { send() {} },
    onEnd() {},
    onOpen(stream) {
      asked.push(stream.id);
      return ignore();
    },
  });
  const frames = [
    frame(FrameType.request, END, 1, ascii(HEAD_TEXT)),
    frame(99 as FrameType, 0, 0),
    frame(FrameType.request, END, 2, ascii(HEAD_TEXT)),
  ];
  client.receive(...whole(Uint8Array.from(frames.flatMap((bytes) => [...bytes]))));
  assert.deepEqual(asked, [1]);
});

Deno.test("an error of one stream's handler ends that stream with `internal`, and no other stream of the session", async () => {
  const defects: unknown[] = [], resets: unknown[] = [];
  const { link, asked } = createLink({ onDefect: (side, error) => defects.push([side, String(error)]) });
  const throwing = () => {
    throw new Error("a defect");
  };
  const onReset = (reason: ResetReason) => resets.push(reason);
  link.relay.open(GET, HEAD, visitor({ onResponse: throwing, onReset }));
  link.relay.open(GET, HEAD, visitor({ onBeat: throwing, onReset }));
  link.relay.open(GET, HEAD, visitor({ onReset: throwing }));
  const good = link.relay.open(GET, HEAD, visitor())!;
  await link.settle();
  answerEmpty(asked[0], false);
  asked[2].reset(ResetReason.broken);
  await link.settle();
  link.relay.beat();
  await link.settle();
  assert.deepEqual(defects, Array(3).fill(["relay", "Error: a defect"]));
  assert.deepEqual(resets, [ResetReason.internal, ResetReason.internal]);
  assert.deepEqual([good.ended, link.relay.size, link.ends], [null, 1, []]);
  answerEmpty(asked[3]);
  await link.settle();
  assert.deepEqual([good.ended, link.relay.size, link.client.size], [ResetReason.none, 0, 0]);
});

Deno.test("Mux.end resets every stream and calls onEnd although a handler throws", () => {
  const { link } = createLink({ onDefect: () => {} });
  const resets: ResetReason[] = [];
  for (let count = 0; count < 3; count++) {
    const onReset = (reason: ResetReason) => {
      resets.push(reason);
      throw new Error("a defect");
    };
    link.relay.open(GET, HEAD, visitor({ onReset }));
  }
  link.relay.end(GoAwayReason.closed, "done");
  assert.deepEqual(resets, Array(3).fill(ResetReason.sessionLost));
  assert.deepEqual(link.ends, [{ side: "relay", reason: GoAwayReason.closed, text: "done" }]);
});

Deno.test("MuxStream refuses a status outside HTTP's range, and the session continues", async () => {
  for (const status of [0, 99, 101, 199, 600, 65535]) {
    const { link, asked } = createLink();
    link.relay.open(GET, HEAD, visitor());
    await link.settle();
    assert.throws(() => asked[0].respond(status, NOTHING, 0, 0, NOTHING, 0, 0, true), /cannot send/);
    answerEmpty(asked[0]);
    await link.settle();
    assert.deepEqual([link.relay.size, link.ends], [0, []]);
  }
});
