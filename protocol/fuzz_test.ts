import assert from "node:assert/strict";
import fc from "fast-check";
import {
  answerEmpty,
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
} from "./_link.ts";
import { FrameType } from "./frames.ts";
import { writeFrameHead, writeU16, writeU32 } from "./outbox.ts";
import { FRAME_HEAD } from "./limits.ts";
import { GoAwayReason } from "./reasons.ts";

const types = fc.oneof(fc.constantFrom(...Object.values(FrameType)), fc.nat(255));
const ids = fc.oneof(fc.nat(6), fc.constantFrom(0x7fffffff, 0x80000000, 0xffffffff), fc.nat());
const payloads = fc.oneof(
  fc.uint8Array({ maxLength: 40 }),
  fc.constantFrom(NOTHING, new TextEncoder().encode(HEAD_TEXT), new Uint8Array(8), Uint8Array.of(0, 200, 0, 0)),
  fc.nat(0xffffffff).map((value) => {
    const bytes = new Uint8Array(4);
    writeU32(bytes, 0, value);
    return bytes;
  }),
  fc.tuple(fc.nat(0xffff), fc.nat(0xffff), fc.uint8Array({ maxLength: 100 })).map(([status, length, rest]) => {
    const bytes = new Uint8Array(4 + rest.length);
    writeU16(bytes, 0, status);
    writeU16(bytes, 2, length % (rest.length + 2));
    bytes.set(rest, 4);
    return bytes;
  }),
  fc.constant(patterned(70_000, 1)),
);

/** Frames that are well-formed more often than not, a few bytes of them changed, the end perhaps cut off. */
const message = fc.oneof(
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }) },
  {
    weight: 5,
    arbitrary: fc.tuple(
      fc.array(fc.tuple(types, fc.nat(255), ids, payloads), { maxLength: 5 }),
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 2 }),
      fc.option(fc.nat()),
    ).map(([frames, changes, cut]) => {
      const bytes = Uint8Array.from(frames.flatMap(([type, flags, id, payload]) => {
        const head = new Uint8Array(FRAME_HEAD);
        writeFrameHead(head, 0, payload.length, type as FrameType, flags, id);
        return [...head, ...payload];
      }));
      for (const [at, value] of changes) if (bytes.length > 0) bytes[at % bytes.length] = value;
      return cut === null ? bytes : bytes.subarray(0, cut % (bytes.length + 1));
    }),
  },
);

/** Two sessions of one process, each with a few streams in different states. */
async function createSession() {
  const link = new Link({
    maxStreams: 20,
    onOpen(stream) {
      if (stream.id % 3 === 1 && stream.kind !== "raw") answerEmpty(stream, stream.id % 2 === 0);
      return ignore();
    },
  });
  for (let count = 0; count < 5; count++) {
    link.relay.open(count === 3 ? UPGRADING : count % 2 === 0 ? GET : POST, HEAD, visitor());
  }
  await link.settle();
  return link;
}

for (const side of ["relay", "client"] as const) {
  Deno.test(`hostile bytes end the ${side}'s session by protocolError or do nothing, and touch no other`, async () => {
    const bystander = await createSession();
    const before = [bystander.relay.size, bystander.client.size];
    await fc.assert(
      fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 8 }), async (messages) => {
        const link = await createSession();
        for (const bytes of messages) link[side].receive(bytes, 0, bytes.length);
        await turn();
        const ends = link.ends.filter((end) => end.side === side);
        assert(ends.length <= 1);
        assert.equal(link[side].over, ends.length === 1);
        if (ends.length === 1) {
          assert.equal(ends[0].reason, GoAwayReason.protocolError);
          assert.notEqual(ends[0].text, "");
          assert.equal(link[side].size, 0);
        }
        assert(link[side].size <= 20);
        assert(link[side].outbox.used < 1024 * 1024);
        link.relay.end(GoAwayReason.closed, "");
        link.client.end(GoAwayReason.closed, "");
      }),
      { numRuns: 400 },
    );
    assert.deepEqual([bystander.relay.size, bystander.client.size, bystander.ends], [...before, []]);
    const asked: number[] = [];
    bystander.relay.open(GET, HEAD, visitor({ onResponse: (status) => asked.push(status) }));
    await bystander.settle();
    bystander.relay.open(GET, HEAD, visitor({ onResponse: (status) => asked.push(status) }));
    await bystander.settle();
    assert.deepEqual(asked, [200], "the stream whose id is 1 modulo 3 is still answered");
  });
}
