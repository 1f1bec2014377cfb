import assert from "node:assert/strict";
import { Opening, ResetReason, type Stream } from "../../protocol/mod.ts";
import { createRelayEnd } from "./_relay_end.ts";
import type { Target } from "./target.ts";

/** A target that returns every byte of a raw stream in upper case. */
const shouting: Target = {
  name: "echo",
  handle: () => assert.fail("there is no request"),
  accept: (stream, opening) => {
    stream.send(opening.slice(), 0, opening.length);
    return {
      onData(chunk, end) {
        const text = new TextDecoder().decode(chunk).toUpperCase();
        void stream.write(new TextEncoder().encode(text), end).then(() => stream.consumed(chunk.length));
      },
      onReset() {},
    };
  },
  close: () => Promise.resolve(),
};

Deno.test("a raw stream carries an opening and bytes in both directions, without HTTP", async () => {
  const { relay } = createRelayEnd(shouting), ended = Promise.withResolvers<void>();
  let received = "";
  const opening = {
    headSize: 3,
    writeHead: (into: Uint8Array, at: number) => (into.set([0x68, 0x69, 0x3a], at), at + 3),
  };
  const stream: Stream = relay.open(Opening.raw, opening, {
    onData(chunk) {
      received += new TextDecoder().decode(chunk);
      stream.consumed(chunk.length);
    },
    onReset: (_reason, text) => assert.fail(text),
  })!;
  stream.onFinish = ended.resolve;
  await stream.write(new TextEncoder().encode("one, "));
  await stream.write(new TextEncoder().encode("two"), true);
  await ended.promise;
  assert.equal(received, "hi:ONE, TWO");
  assert.equal(stream.ended, ResetReason.none);
});
