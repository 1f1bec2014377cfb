import assert from "node:assert/strict";
import fc from "fast-check";
import {
  answerEmpty,
  createLink,
  GET,
  HEAD,
  ignore,
  Link,
  NOTHING,
  patterned,
  POST,
  turn,
  UPGRADING,
  visitor,
} from "./_link.ts";
import { FrameType } from "./frames.ts";
import { readU32 } from "./outbox.ts";
import {
  FRAME_HEAD,
  INITIAL_WINDOW,
  MAX_EARLY_GROWTH,
  MAX_PIECE,
  MAX_WINDOW,
  MAX_WINDOW_GROWTH,
  OVERDRAFT,
} from "./limits.ts";
import { ByteBudget } from "./flow.ts";
import { GoAwayReason, ResetReason } from "./reasons.ts";
import { StreamEvent, StreamState } from "./state.ts";
import type { MuxStream } from "./stream.ts";

/** A reader of one direction of one stream, that passes on what it got only when it is told to. */
class Reader {
  /** Set once the stream is known. */
  stream: MuxStream | null = null;
  ended = false;
  received = 0;
  consumed = 0;
  readonly #expected: Uint8Array;

  constructor(expected: Uint8Array) {
    this.#expected = expected;
  }

  take(piece: Uint8Array, end: boolean): void {
    assert.equal(this.ended, false, "a piece after the end");
    assert(piece.length > 0 || end, "an empty piece in the middle");
    const { received } = this;
    assert.deepEqual(piece, this.#expected.subarray(received, received + piece.length));
    this.received += piece.length;
    this.ended = end;
    const window = INITIAL_WINDOW + this.stream!.growth;
    assert(this.received - this.consumed <= window + OVERDRAFT, "more came than may come");
    assert(window <= MAX_WINDOW);
  }

  consume(bytes: number): void {
    const count = Math.min(bytes, this.received - this.consumed);
    if (count === 0) return;
    this.consumed += count;
    this.stream!.consumed(count);
  }

  get complete(): boolean {
    return this.ended && this.received === this.#expected.length;
  }
}

interface Plan {
  /** Bytes of each write. */
  up: number[];
  down: number[];
  /** Reads nothing until all others are done. */
  stalled: boolean;
}

const writes = fc.array(
  fc.oneof(fc.nat(2000), fc.constantFrom(0, MAX_PIECE, INITIAL_WINDOW, INITIAL_WINDOW + 1), fc.nat(300_000)),
  { maxLength: 4 },
);
const plan = fc.record({ up: writes, down: writes, stalled: fc.boolean() });

/** What happens next: a message is delivered, a reader passes something on, or time goes by. */
const step = fc.oneof(
  fc.constantFrom("toClient" as const, "toRelay" as const, "turn" as const),
  fc.record({ reader: fc.nat(20), bytes: fc.nat(100_000) }),
);

async function writeAll(stream: MuxStream, body: Uint8Array, sizes: number[], endsWithLast: boolean): Promise<void> {
  let at = 0;
  for (const [index, size] of sizes.entries()) {
    await stream.write(body.subarray(at, at + size), endsWithLast && index === sizes.length - 1);
    at += size;
  }
  stream.end();
}

/** Opens a stream for every plan and starts writing both ways. */
function startAll(link: Link, plans: Plan[], asked: Map<number, (stream: MuxStream) => void>) {
  return plans.map(({ up, down, stalled }, index) => {
    const size = (sizes: number[]) => sizes.reduce((sum, bytes) => sum + bytes, 0);
    const [upBody, downBody] = [patterned(size(up), index), patterned(size(down), index + 100)];
    const readers = { up: new Reader(upBody), down: new Reader(downBody), stalled };
    const stream = link.relay.open(POST, HEAD, visitor({ onData: (piece, end) => readers.down.take(piece, end) }))!;
    readers.down.stream = stream;
    const done = Promise.withResolvers<void>();
    asked.set(stream.id, (answering) => {
      readers.up.stream = answering;
      answerEmpty(answering, false);
      writeAll(answering, downBody, down, index % 2 === 0).then(done.resolve, done.reject);
    });
    return { ...readers, written: Promise.all([writeAll(stream, upBody, up, index % 2 === 1), done.promise]) };
  });
}

for (const slow of [false, true]) {
  Deno.test(`bodies arrive whole and in order on interleaved streams, ${slow ? "slow" : "fast"} transport`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(plan, { minLength: 1, maxLength: 6 }),
        fc.array(step, { maxLength: 60 }),
        async (plans, steps) => {
          const asked = new Map<number, (stream: MuxStream) => void>();
          const pieces = new Map<number, ReturnType<typeof startAll>[number]>();
          const link: Link = new Link({
            slow,
            onOpen(stream) {
              queueMicrotask(() => asked.get(stream.id)!(stream));
              return ignore({
                onData(piece, end) {
                  const { up } = pieces.get(stream.id)!;
                  up.stream = stream;
                  up.take(piece, end);
                },
              });
            },
          });
          const flows = startAll(link, plans, asked);
          flows.forEach((flow, index) => pieces.set(index + 1, flow));
          const lively = flows.filter(({ stalled }) => !stalled).flatMap(({ up, down }) => [up, down]);
          for (const next of steps) {
            if (next === "turn") await turn();
            else if (typeof next === "string") link.deliver(next);
            else if (lively.length > 0) lively[next.reader % lively.length].consume(next.bytes);
            assert(
              [link.relay, link.client].every((end) => end.flow.overdraft >= 0 && end.flow.peerOverdrawn <= OVERDRAFT),
            );
          }
          const finish = async (readers: Reader[]) => {
            for (let quiet = 0; quiet < 5;) {
              await turn();
              const moved = [link.deliver("toClient"), link.deliver("toRelay")].includes(true);
              readers.forEach((reader) => reader.consume(Infinity));
              quiet = moved ? 0 : quiet + 1;
            }
          };
          await finish(lively);
          // Those that read are through, whatever the others do.
          assert(lively.every(({ complete }) => complete), "a stream that is read stands still");
          await finish(flows.flatMap(({ up, down }) => [up, down]));
          await Promise.all(flows.map(({ written }) => written));
          assert(flows.every(({ up, down }) => up.complete && down.complete));
          assert.deepEqual([link.relay.size, link.client.size, link.ends], [0, 0, []]);
          for (const { growth, overdraft, peerOverdrawn } of [link.relay.flow, link.client.flow]) {
            assert.equal(growth.take(Infinity), MAX_WINDOW_GROWTH);
            growth.giveBack(MAX_WINDOW_GROWTH);
            assert.deepEqual([overdraft, peerOverdrawn], [OVERDRAFT, 0]);
          }
          assert.equal(link.overdraft.take(Infinity), OVERDRAFT);
        },
      ),
      { numRuns: 150 },
    );
  });
}

Deno.test("a reader that takes nothing stalls its own stream at the window and what may be overdrawn, and no other", async () => {
  const { link, asked } = createLink();
  const got = [0, 0];
  const streams = got.map((_, index) =>
    link.relay.open(
      GET,
      HEAD,
      visitor({
        onData(piece) {
          got[index] += piece.length;
          if (index === 1) streams[1].consumed(piece.length);
        },
      }),
    )!
  );
  await link.settle();
  asked.forEach((stream) => answerEmpty(stream, false));
  const stalled = asked[0].write(patterned(2_000_000, 1), true).catch(() => "woken");
  await link.settle();
  await Promise.all([asked[1].write(patterned(1_000_000, 2), true), link.settle()]);
  await link.settle();
  assert.deepEqual(got, [INITIAL_WINDOW + OVERDRAFT, 1_000_000]);
  streams[0].reset(1);
  await link.settle();
  assert.equal(await stalled, "woken");
});

/** Receives body bytes on a stream without a frame, as if its response had begun. */
function arrive(stream: MuxStream, bytes: number, now: number): void {
  if (stream.state === StreamState.waiting) stream.step(StreamEvent.response, 0, now);
  stream.step(StreamEvent.downData, bytes, now);
}

/** A relay whose clock is the test's, and whose client is 50 ms away there and back. */
async function createClocked() {
  const clock = { time: 1000 };
  const link = new Link({ now: () => clock.time });
  link.relay.measureRoundTrip();
  // The first round trip is measured a second time.
  for (let trip = 0; trip < 2; trip++) {
    await turn();
    clock.time += 50;
    link.deliver("toClient");
    await turn();
    link.deliver("toRelay");
  }
  await link.settle();
  assert.equal(link.relay.roundTripMs, 50);
  const open = () => link.relay.open(GET, HEAD, visitor())!;
  // As if that much had come and been passed on.
  const pass = (stream: MuxStream, bytes = (INITIAL_WINDOW + stream.growth) / 2, waiting = 0) => {
    arrive(stream, bytes + waiting, clock.time);
    stream.consumed(bytes);
  };
  return { clock, link, open, pass };
}

Deno.test("windows grow while readers keep up, within the bounds of a stream and of the session", async () => {
  const { clock, link, open, pass } = await createClocked();
  const streams = Array.from({ length: 6 }, open);
  // One by one: the first ones take all there is, up to a window's limit each.
  for (const stream of streams) {
    for (let trip = 0; trip < 6; trip++) {
      pass(stream);
      clock.time += 50;
    }
  }
  const growths = streams.map(({ growth }) => growth);
  assert.equal(growths[0], MAX_WINDOW - INITIAL_WINDOW);
  assert(growths.every((growth) => growth <= MAX_WINDOW - INITIAL_WINDOW));
  assert.equal(growths.reduce((sum, growth) => sum + growth), MAX_WINDOW_GROWTH);
  assert.equal(growths.at(-1), 0);
  streams.forEach((stream) => stream.reset(1));
  assert.equal(link.relay.flow.growth.take(Infinity), MAX_WINDOW_GROWTH);
  link.relay.flow.growth.giveBack(MAX_WINDOW_GROWTH);
  await turn();
});

Deno.test("a window fits a body of known length at once, up to 1000 KiB, while there is room", async () => {
  const { link, asked } = createLink();
  const got: number[] = [];
  const lengths = [INITIAL_WINDOW, INITIAL_WINDOW + 1, 500_000, 2_000_000];
  const streams = lengths.map((length, index) => {
    const stream: MuxStream = link.relay.open(
      GET,
      HEAD,
      visitor({
        onResponse: () => stream.expect(length),
        onData: (piece) => void (got[index] = (got[index] ?? 0) + piece.length),
      }),
    )!;
    return stream;
  });
  await link.settle();
  asked.forEach((stream) => answerEmpty(stream, false));
  await link.settle();
  assert.deepEqual(streams.map(({ growth }) => growth), [0, 1, 500_000 - INITIAL_WINDOW, 1000 * 1024 - INITIAL_WINDOW]);
  asked.forEach((stream) => void stream.write(patterned(2_000_000, 1), true).catch(() => {}));
  await link.settle();
  // The first one was given no credit, so it overdraws.
  assert.deepEqual(got, streams.map(({ growth }, index) => INITIAL_WINDOW + (index === 0 ? OVERDRAFT : growth)));
  streams.forEach((stream) => stream.reset(1));
  assert.equal(link.relay.flow.growth.take(Infinity), MAX_WINDOW_GROWTH);
  const late = link.relay.open(GET, HEAD, visitor())!;
  late.expect(1_000_000);
  assert.equal(late.growth, 0);
  link.relay.flow.growth.giveBack(MAX_WINDOW_GROWTH);
  await link.settle();
});

/** A link whose client passes nothing on until it is told to. */
function createUploads() {
  const asked: MuxStream[] = [], got: number[] = [];
  const link: Link = new Link({
    onOpen(stream) {
      const index = asked.push(stream) - 1;
      got[index] = 0;
      return ignore({ onData: (piece) => void (got[index] += piece.length) });
    },
  });
  const upload = async (bytes: number, end = false) => {
    // Those that are reset in the end reject.
    void link.relay.open(POST, HEAD, visitor())!.write(patterned(bytes, 1), end).catch(() => {});
    await link.settle();
  };
  return { link, asked, got, upload };
}

Deno.test("bodies begin without waiting for credit, as far as all of them together may", async () => {
  const { link, asked, got, upload } = createUploads();
  const large = INITIAL_WINDOW + OVERDRAFT / 2;
  for (const bytes of [large, 2 * OVERDRAFT, 100_000]) await upload(bytes);
  assert.deepEqual(got, [large, large, INITIAL_WINDOW]);
  assert.deepEqual([link.relay.flow.overdraft, link.client.flow.peerOverdrawn], [0, OVERDRAFT]);
  // Whoever is given credit pays back first, and has no more than that from then on.
  asked[1].consumed(OVERDRAFT / 2);
  await link.settle();
  assert.deepEqual(got, [large, large, INITIAL_WINDOW]);
  assert.deepEqual([link.relay.flow.overdraft, link.client.flow.peerOverdrawn], [OVERDRAFT / 2, OVERDRAFT / 2]);
  await upload(100_000);
  asked[1].consumed(INITIAL_WINDOW);
  await link.settle();
  assert(got[1] > large);
  assert.equal(got[3], 100_000);
  link.relay.streams().forEach((stream) => stream.reset(1));
  await link.settle();
  assert.deepEqual([link.relay.flow.overdraft, link.client.flow.peerOverdrawn, link.ends], [OVERDRAFT, 0, []]);
});

Deno.test("a body that was overdrawn is paid back once it has been passed on, however long its answer takes", async () => {
  const { link, asked, got, upload } = createUploads();
  await upload(OVERDRAFT, true);
  assert.deepEqual(got, [OVERDRAFT]);
  for (let left = OVERDRAFT; left > 0; left -= MAX_PIECE) asked[0].consumed(MAX_PIECE);
  await link.settle();
  assert.deepEqual([link.relay.flow.overdraft, link.client.flow.peerOverdrawn], [OVERDRAFT, 0]);
  assert.equal(link.client.size, 1);
});

Deno.test("what waits for a reader counts after the answer's end, too: thousands who do not read hold no more", async () => {
  const { link, asked } = createLink();
  const lengths = [INITIAL_WINDOW + OVERDRAFT, 1_000_000], got: number[] = [];
  const streams: MuxStream[] = [];
  const ask = async (length: number, isKnown: boolean) => {
    const index = got.push(0) - 1;
    streams[index] = link.relay.open(
      GET,
      HEAD,
      visitor({
        onResponse: () => isKnown && streams[index].expect(length),
        onData: (piece) => void (got[index] += piece.length),
      }),
    )!;
    await link.settle();
    answerEmpty(asked[index], false);
    await link.settle();
    void asked[index].write(patterned(length, 1), true).catch(() => {});
    await link.settle();
  };
  await ask(lengths[0], false);
  for (let count = 0; count < 6; count++) await ask(lengths[1], true);
  // The first has overdrawn all, the next ones have grown; those that came whole have ended.
  assert.deepEqual([streams[0].ended, streams[1].ended, asked[0].ended], [0, 0, 0]);
  assert.deepEqual([link.relay.flow.peerOverdrawn, link.client.flow.overdraft], [OVERDRAFT, 0]);
  const held = () => streams.reduce((sum, { growth }) => sum + growth, 0);
  assert.equal(held(), MAX_EARLY_GROWTH);
  assert(got.reduce((sum, bytes) => sum + bytes) <= 7 * INITIAL_WINDOW + OVERDRAFT + MAX_EARLY_GROWTH);
  assert.equal(got.at(-1), INITIAL_WINDOW);
  // One reads half of it, the other one leaves.
  streams[0].consumed(lengths[0] / 2);
  streams[1].reset(ResetReason.cancelled);
  await link.settle();
  const left = OVERDRAFT - lengths[0] / 2;
  assert.deepEqual([link.relay.flow.peerOverdrawn, link.client.flow.overdraft], [OVERDRAFT - left, left]);
  assert.equal(streams[1].growth, 0);
  streams[0].consumed(lengths[0] / 2);
  streams.forEach((stream) => stream.reset(ResetReason.cancelled));
  await link.settle();
  assert.deepEqual([link.relay.flow.peerOverdrawn, link.client.flow.overdraft, held(), link.ends], [
    0,
    OVERDRAFT,
    0,
    [],
  ]);
  assert.equal(link.relay.flow.growth.take(Infinity), MAX_WINDOW_GROWTH);
  link.relay.flow.growth.giveBack(MAX_WINDOW_GROWTH);
});

Deno.test("an upload that is stopped, wherever it is, leaves nothing overdrawn", async () => {
  for (const [ends, reason] of [[true, ResetReason.none], [false, ResetReason.broken]] as const) {
    const { link, asked, upload } = createUploads();
    void upload(OVERDRAFT, true);
    // Some has come, more is on its way when the client stops it.
    for (let count = 0; count < 3; count++) {
      await turn();
      link.deliver("toClient");
    }
    answerEmpty(asked[0], ends);
    asked[0].reset(reason);
    await link.settle();
    assert.deepEqual([link.relay.flow.overdraft, link.client.flow.peerOverdrawn, link.ends], [OVERDRAFT, 0, []]);
  }
});

Deno.test("an answer that is whole is paid back though the rest of its upload is stopped", async () => {
  const { link, asked } = createLink();
  const stream = link.relay.open(POST, HEAD, visitor())!;
  await link.settle();
  answerEmpty(asked[0], false);
  await asked[0].write(patterned(INITIAL_WINDOW + 1000, 1), true);
  asked[0].reset(ResetReason.none);
  await link.settle();
  assert.deepEqual([link.relay.flow.peerOverdrawn, link.client.flow.overdraft], [1000, OVERDRAFT - 1000]);
  stream.consumed(INITIAL_WINDOW + 1000);
  await link.settle();
  assert.deepEqual([link.relay.flow.peerOverdrawn, link.client.flow.overdraft, link.ends], [0, OVERDRAFT, []]);
});

Deno.test("more than may be overdrawn ends the session, either way", async () => {
  const up = createUploads();
  up.link.relay.flow.overdraft++;
  await up.upload(INITIAL_WINDOW + OVERDRAFT + 1);
  assert.deepEqual(up.link.ends.map(({ side, reason }) => [side, reason]), [["client", GoAwayReason.protocolError]]);
  const down = createLink();
  down.link.relay.open(GET, HEAD, visitor());
  await down.link.settle();
  answerEmpty(down.asked[0], false);
  down.link.client.flow.overdraft++;
  void down.asked[0].write(patterned(INITIAL_WINDOW + OVERDRAFT + 1, 1)).catch(() => {});
  await down.link.settle();
  assert.equal(down.link.ends[0].reason, GoAwayReason.protocolError);
});

/** Asks a client for an answer of 2 MiB, of which nobody takes anything. */
async function askForLarge({ link, asked }: ReturnType<typeof createLink>) {
  let got = 0;
  const stream = link.relay.open(GET, HEAD, visitor({ onData: (piece) => void (got += piece.length) }))!;
  await link.settle();
  const asking = asked.at(-1)!;
  answerEmpty(asking, false);
  void asking.write(patterned(2 * OVERDRAFT, 1), true).catch(() => {});
  await link.settle();
  return { got, stream };
}

Deno.test("all clients together overdraw no more than their relay has for them, and while they are asked", async () => {
  const overdraft = new ByteBudget(2 * OVERDRAFT - 1);
  const one = createLink({ overdraft }), other = createLink({ overdraft });
  const stalled = await askForLarge(one);
  assert.equal(stalled.got, INITIAL_WINDOW + OVERDRAFT);
  const modest = await askForLarge(other);
  assert.equal(modest.got, INITIAL_WINDOW);
  modest.stream.reset(ResetReason.cancelled);
  // What the visitor did not take is dropped with them.
  stalled.stream.reset(ResetReason.cancelled);
  const late = await askForLarge(other);
  assert.equal(late.got, INITIAL_WINDOW + OVERDRAFT);
  late.stream.reset(ResetReason.cancelled);
  await Promise.all([one.link.settle(), other.link.settle()]);
  assert.equal(overdraft.take(Infinity), 2 * OVERDRAFT - 1);
  assert.deepEqual([one.link.ends, other.link.ends], [[], []]);
});

Deno.test("what a client overdrew counts until it is passed on, though its session is lost meanwhile", async () => {
  const { link, asked } = createLink();
  const stream = link.relay.open(GET, HEAD, visitor())!;
  await link.settle();
  answerEmpty(asked[0], false);
  await Promise.all([asked[0].write(patterned(OVERDRAFT, 1), true), link.settle()]);
  link.relay.end(GoAwayReason.lost, "gone");
  assert.deepEqual([stream.ended, link.relay.flow.peerOverdrawn], [ResetReason.none, OVERDRAFT - INITIAL_WINDOW]);
  assert.equal(link.overdraft.take(Infinity), 0);
  stream.consumed(OVERDRAFT);
  assert.equal(link.overdraft.take(Infinity), OVERDRAFT);
});

Deno.test("a client that overdraws where it may not ends its session", async () => {
  for (const flags of [GET, UPGRADING]) {
    const { link, asked } = createLink({ overdraft: new ByteBudget(flags === UPGRADING ? OVERDRAFT : 0) });
    link.relay.open(flags, HEAD, visitor());
    await link.settle();
    const [stream] = asked;
    stream.respond(flags === UPGRADING ? 101 : 200, NOTHING, 0, 0, NOTHING, 0, 0, false);
    stream.addCredit(1);
    void stream.write(patterned(INITIAL_WINDOW + 1, 1)).catch(() => {});
    await link.settle();
    assert.equal(link.ends[0].reason, GoAwayReason.protocolError);
  }
});

Deno.test("a quarter of what windows may grow by is for bodies that nobody has taken anything of yet", async () => {
  const { link, open, pass } = await createClocked();
  const streams = Array.from({ length: 40 }, open);
  for (const stream of streams) stream.expect(1_000_000_000);
  const grown = () => streams.reduce((sum, { growth }) => sum + growth, 0);
  assert.equal(grown(), MAX_EARLY_GROWTH);
  const last = streams.at(-1)!;
  assert.equal(last.growth, 0);
  pass(last);
  assert.equal(last.growth, 4 * INITIAL_WINDOW);
  assert.equal(grown(), MAX_EARLY_GROWTH + last.growth);
  streams.forEach((stream) => stream.reset(1));
  assert.equal(link.relay.flow.growth.take(Infinity), MAX_WINDOW_GROWTH);
  link.relay.flow.growth.giveBack(MAX_WINDOW_GROWTH);
  await turn();
});

Deno.test("a window fills a long line within a few round trips", async () => {
  const { clock, open, pass } = await createClocked();
  const stream = open(), sizes: number[] = [];
  for (let trip = 0; trip < 5; trip++) {
    pass(stream);
    sizes.push((INITIAL_WINDOW + stream.growth) / 1024);
    clock.time += 50;
  }
  assert.deepEqual(sizes, [200, 1000, 5000, 15360, 15360]);
  await turn();
});

Deno.test("a window on a short line holds what comes in a few round trips, however fast that is", async () => {
  const { clock, link, open, pass } = await createClocked();
  for (let count = 0; count < 100; count++) {
    clock.time += 1000;
    link.relay.measureRoundTrip();
    await turn();
    clock.time += 1;
    await link.settle();
  }
  const stream = open();
  // 500 MB/s.
  for (let count = 0; count < 200; count++) {
    pass(stream);
    clock.time += (INITIAL_WINDOW + stream.growth) / 2 / 500_000;
  }
  assert.equal(stream.growth, 1000 * 1024 - INITIAL_WINDOW);
  await turn();
});

Deno.test("a window stays as it is while its reader takes its time, or while much waits for the reader", async () => {
  const { clock, open, pass } = await createClocked();
  const slow = open(), full = open();
  pass(slow, 1);
  clock.time += 300;
  pass(slow, INITIAL_WINDOW / 2);
  assert.equal(slow.growth, 0);
  pass(full, INITIAL_WINDOW / 2, INITIAL_WINDOW / 2);
  assert.equal(full.growth, 0);
  await turn();
});

Deno.test("a window grows for a reader who passes on what comes in bursts, wherever they are cut", async () => {
  const { clock, open } = await createClocked();
  const eager = open(), slow = open();
  const most = INITIAL_WINDOW * 0.625, rest = INITIAL_WINDOW - most;
  // The whole window comes at once. That more than half of it is passed on says nothing yet.
  for (const stream of [eager, slow]) {
    arrive(stream, INITIAL_WINDOW, clock.time);
    stream.consumed(most);
  }
  eager.consumed(rest);
  clock.time += 50;
  // As much comes as there was credit for, and again a part of it waits when half of the window has been passed on.
  for (const stream of [eager, slow]) arrive(stream, most, clock.time);
  eager.consumed(most - rest);
  slow.consumed(most);
  assert.equal(eager.growth, 4 * INITIAL_WINDOW);
  assert.equal(slow.growth, 0);
  await turn();
});

Deno.test("a window shrinks again when its reader has become slow, and goes on", async () => {
  const { clock, link, open, pass } = await createClocked();
  const stream = open();
  for (let trip = 0; trip < 4; trip++) {
    pass(stream);
    clock.time += 50;
  }
  assert.equal(stream.growth, MAX_WINDOW - INITIAL_WINDOW);
  for (let trip = 0; trip < 10; trip++) {
    clock.time += 3000;
    pass(stream);
  }
  assert(stream.growth < INITIAL_WINDOW, `${stream.growth}`);
  await turn();
  link.toClient.messages.length = 0;
  clock.time += 3000;
  pass(stream, INITIAL_WINDOW);
  await turn();
  assert.equal(link.toClient.messages.length, 1, "credit is still given");
});

Deno.test("ByteBudget gives no more than it has, nor than the budget above", () => {
  const above = new ByteBudget(100);
  const [one, other] = [new ByteBudget(80, above), new ByteBudget(80, above)];
  assert.deepEqual([one.take(90), other.take(90), other.take(1)], [80, 20, 0]);
  one.giveBack(50);
  assert.deepEqual([other.take(90), one.take(90)], [50, 0]);
});

Deno.test("many writers that wait for the same room send no empty frames", async () => {
  const { link, asked } = createLink({ slow: true });
  const streams = Array.from(
    { length: 60 },
    () => link.relay.open(GET, HEAD, visitor())!,
  );
  await link.settle();
  asked.forEach((stream) => answerEmpty(stream, false));
  const writing = asked.map((stream) => stream.write(patterned(INITIAL_WINDOW, stream.id), true));
  let empty = 0;
  for (let quiet = 0; quiet < 5; quiet++) {
    await turn();
    for (const message of link.toRelay.messages) {
      quiet = 0;
      for (let at = 0; at < message.length; at += FRAME_HEAD + readU32(message, at)) {
        if (message[at + 4] === FrameType.data && readU32(message, at) === 0) empty++;
      }
    }
    while (link.deliver("toRelay"));
  }
  await Promise.all(writing);
  assert.equal(empty, 0);
  assert(streams.every(({ ended }) => ended === ResetReason.none));
});

Deno.test("an upgrade carries bytes both ways, and each side ends on its own", async () => {
  const got = { relay: "", client: "" };
  const text = (piece: Uint8Array, end: boolean) => String.fromCharCode(...piece) + (end ? "|" : "");
  const { link, asked } = createLink({}, { onData: (piece, end) => got.client += text(piece, end) });
  const stream = link.relay.open(
    UPGRADING,
    HEAD,
    visitor({
      onResponse: (status, frame, _start, blockEnd, payloadEnd, end) =>
        got.relay += `${status} ${text(frame.subarray(blockEnd, payloadEnd), end)}`,
      onData: (piece, end) => got.relay += text(piece, end),
    }),
  )!;
  await link.settle();
  const early = patterned(1, "e".charCodeAt(0));
  asked[0].respond(101, NOTHING, 0, 0, early, 0, 1, false);
  await link.settle();
  await stream.write(Uint8Array.from("up", (char) => char.charCodeAt(0)), true);
  await link.settle();
  assert.deepEqual([stream.ended, asked[0].ended], [null, null], "the client's direction goes on");
  await asked[0].write(Uint8Array.from("down", (char) => char.charCodeAt(0)));
  asked[0].end();
  await link.settle();
  assert.deepEqual(got, { relay: "101 edown|", client: "up|" });
  assert.deepEqual([link.relay.size, link.client.size, link.ends], [0, 0, []]);
});

Deno.test("an empty write sends nothing, and END alone goes out when nothing else waits", async () => {
  const link = new Link();
  const stream = link.relay.open(POST, HEAD, visitor())!;
  await link.settle();
  await stream.write(NOTHING);
  await turn();
  assert.equal(link.toClient.messages.length, 0);
  await stream.write(NOTHING, true);
  await turn();
  assert.equal(link.toClient.messages[0].length, FRAME_HEAD);
  link.relay.end(GoAwayReason.closed, "");
});

Deno.test("a small answer is sent while large bodies wait for room", async () => {
  const { link, asked } = createLink({ slow: true });
  for (let count = 0; count < 11; count++) link.relay.open(GET, HEAD, visitor());
  await link.settle();
  const [small, ...large] = asked;
  large.forEach((stream) => answerEmpty(stream, false));
  const writing = large.map((stream) => stream.write(patterned(INITIAL_WINDOW, stream.id), true));
  await turn();
  assert.equal(small.room, 0);
  assert.deepEqual([4096, 4097].map((bytes) => small.mayRespond(bytes)), [true, false]);
  small.respond(200, NOTHING, 0, 0, patterned(4096, 0), 0, 4096, true);
  assert(link.relay.size > 10);
  await link.settle();
  await Promise.all(writing);
  assert.equal(link.relay.size, 0);
});

/** A link over a line without delay, whose client is asked on so many streams, each with a body that fits its window. */
async function createFilled(count: number) {
  const { link, asked } = createLink({ now: () => 0 });
  link.client.measureRoundTrip();
  const streams = Array.from({ length: count }, () => link.relay.open(GET, HEAD, visitor())!);
  await link.settle();
  asked.forEach((stream) => answerEmpty(stream, false));
  await turn();
  const writing = asked.map((stream) => stream.write(patterned(INITIAL_WINDOW, stream.id), true));
  await turn();
  const sent = () => link.toRelay.messages.reduce((sum, { length }) => sum + length, 0);
  return { link, asked, streams, writing, sent };
}

Deno.test("bodies wait while much has been sent that the peer has not taken in, and small answers pass them", async () => {
  const { link, asked, writing, sent } = await createFilled(20);
  const before = sent();
  assert(before > 256 * 1024 && before < 256 * 1024 + 2 * MAX_PIECE, `${before} bytes were sent`);
  link.relay.open(GET, HEAD, visitor());
  await turn();
  link.deliver("toClient");
  asked.at(-1)!.respond(200, NOTHING, 0, 0, patterned(4096, 0), 0, 4096, true);
  await turn();
  assert(sent() > before + 4096 && sent() < before + MAX_PIECE);
  await link.settle();
  await Promise.all(writing);
  assert.deepEqual([link.relay.size, link.ends], [0, []]);
});

Deno.test("what is sent on streams that are gone counts as taken in, too", async () => {
  const { link, asked, streams, writing } = await createFilled(20);
  streams.forEach((stream) => stream.reset(ResetReason.cancelled));
  const ended = Promise.allSettled(writing);
  await link.settle();
  await ended;
  let got = 0;
  const next = link.relay.open(GET, HEAD, visitor({ onData: (piece) => got += piece.length }))!;
  await link.settle();
  answerEmpty(asked.at(-1)!, false);
  await asked.at(-1)!.write(patterned(INITIAL_WINDOW, next.id), true);
  await link.settle();
  assert.deepEqual([got, link.relay.size, link.ends], [INITIAL_WINDOW, 0, []]);
});
