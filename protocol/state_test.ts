import assert from "node:assert/strict";
import fc from "fast-check";
import { answerEmpty, createLink, HEAD, ignore, Link, NOTHING, patterned, turn, visitor } from "./_link.ts";
import { END, FrameType } from "./frames.ts";
import { FRAME_HEAD, HEARTBEAT_MS, SILENCE_MS } from "./limits.ts";
import { writeFrameHead } from "./outbox.ts";
import { GoAwayReason, ResetReason } from "./reasons.ts";
import {
  SESSION_TABLE,
  type SessionEvent,
  type SessionState,
  STREAM_TABLE,
  StreamEvent,
  StreamState,
} from "./state.ts";
import type { MuxStream } from "./stream.ts";
import { Opening, StreamEnded } from "./types.ts";

type State = keyof typeof StreamState;
type Event = keyof typeof StreamEvent;

const states = Object.keys(StreamState) as State[], events = Object.keys(StreamEvent) as Event[];
const nameOf = (state: StreamState) => states.find((name) => StreamState[name] === state)!;
const findRow = (state: State, event: Event) => STREAM_TABLE.find((row) => row[0] === state && row[1] === event);
const byte = patterned(1, 1);

/** The frame of each event: type, flags, payload. */
const FRAMES: Record<Event, [type: FrameType, flags: number, payload: number[]]> = {
  upData: [FrameType.data, 0, [1]],
  upEnd: [FrameType.data, END, [1]],
  upTrailers: [FrameType.trailers, 0, []],
  interim: [FrameType.response, 0, [0, 103, 0, 0]],
  response: [FrameType.response, 0, [0, 200, 0, 0]],
  responseEnd: [FrameType.response, END, [0, 200, 0, 0]],
  granted: [FrameType.response, 0, [0, 101, 0, 0]],
  grantedEnd: [FrameType.response, END, [0, 101, 0, 0]],
  downData: [FrameType.data, 0, [1]],
  downEnd: [FrameType.data, END, [1]],
  downTrailers: [FrameType.trailers, 0, []],
  reset: [FrameType.reset, 0, [0, 1]],
};

/** The calls that perform each event on the stream of the end that sends it. */
const CALLS: Record<Event, (stream: MuxStream) => void> = {
  upData: (stream) => void stream.send(byte, 0, 1),
  upEnd: (stream) => void stream.send(byte, 0, 1, true),
  upTrailers: (stream) => stream.end(byte),
  interim: (stream) => stream.inform(103, NOTHING, 0, 0),
  response: (stream) => answerEmpty(stream, false),
  responseEnd: (stream) => answerEmpty(stream, true),
  granted: (stream) => stream.respond(101, NOTHING, 0, 0, NOTHING, 0, 0, false),
  grantedEnd: (stream) => stream.respond(101, NOTHING, 0, 0, NOTHING, 0, 0, true),
  downData: (stream) => void stream.send(byte, 0, 1),
  downEnd: (stream) => void stream.send(byte, 0, 1, true),
  downTrailers: (stream) => stream.end(byte),
  reset: (stream) => stream.reset(ResetReason.cancelled),
};
const isUp = (event: Event) => event.startsWith("up");

/** The shortest way from an opening to each state. */
const WAYS: Record<State, [opening: keyof typeof Opening, events: Event[]]> = {
  request: ["withBody", []],
  waiting: ["bodyless", []],
  both: ["withBody", ["response"]],
  response: ["bodyless", ["response"]],
  upload: ["withBody", ["responseEnd"]],
  asking: ["upgrade", []],
  joined: ["raw", []],
  up: ["raw", ["downEnd"]],
  down: ["raw", ["upEnd"]],
  closed: ["bodyless", ["responseEnd"]],
};

/** A session whose first stream is in `state` at both ends. */
async function reach(state: State) {
  const delivered: string[] = [];
  const [opening, way] = WAYS[state];
  const record = (side: string) => ({
    onData: () => delivered.push(side),
    onTrailers: () => delivered.push(side),
    onReset: () => delivered.push(side),
  });
  const { link, asked } = createLink({}, record("client"));
  const handler = visitor({
    ...record("relay"),
    onInterim: () => delivered.push("relay"),
    onResponse: () => delivered.push("relay"),
  });
  const relay = link.relay.open(Opening[opening], HEAD, handler)!;
  await link.settle();
  const [client] = asked;
  for (const event of way) {
    CALLS[event](isUp(event) ? relay : client);
    await link.settle();
  }
  assert.deepEqual([nameOf(relay.state), nameOf(client.state)], [state, state]);
  delivered.length = 0;
  return { link, relay, client, delivered };
}

for (const state of states) {
  for (const event of events) {
    const row = findRow(state, event);
    Deno.test(`stream state ${state}: ${event} ${row === undefined ? "is illegal" : `leads to ${row[2]}`}`, async () => {
      for (const sender of event === "reset" ? ["relay", "client"] as const : [isUp(event) ? "relay" : "client"]) {
        const { link, relay, client, delivered } = await reach(state);
        const [own, peer] = sender === "relay" ? [relay, client] : [client, relay];
        const before = own.state;
        if (row === undefined) {
          // The sender refuses, or ignores the call because the direction or the stream has ended.
          try {
            CALLS[event](own as MuxStream);
          } catch (error) {
            assert.match(String(error), /cannot send on stream 1/);
          }
          await link.settle();
          assert.deepEqual([own.state, peer.state, delivered, link.ends], [before, before, [], []]);
          if (state === "closed") continue;
          const [type, flags, payload] = FRAMES[event];
          const bytes = new Uint8Array(FRAME_HEAD + payload.length);
          writeFrameHead(bytes, 0, payload.length, type, flags, 1);
          bytes.set(payload, FRAME_HEAD);
          link[sender === "relay" ? "client" : "relay"].receive(bytes, 0, bytes.length);
          assert.equal(link.ends[0]?.reason, GoAwayReason.protocolError);
          assert.match(link.ends[0].text, /^stream 1: |only the client responds/);
          continue;
        }
        CALLS[event](own as MuxStream);
        await link.settle();
        assert.deepEqual([nameOf(own.state), nameOf(peer.state)], [row[2], row[2]]);
        assert.deepEqual(delivered, [sender === "relay" ? "client" : "relay"]);
        const isClosed = row[3] === "deliver, close";
        assert.deepEqual([link.relay.size, link.client.size], isClosed ? [0, 0] : [1, 1]);
        assert.deepEqual(link.ends, []);
      }
    });
  }
}

Deno.test("no sequence of calls on two ends leaves the table of stream states", async () => {
  const calls = fc.array(fc.tuple(fc.constantFrom("relay" as const, "client" as const), fc.constantFrom(...events)), {
    maxLength: 30,
  });
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...Object.values(Opening)), calls, async (opening, sequence) => {
      const asked: MuxStream[] = [];
      const link: Link = new Link({ onOpen: (stream) => (asked.push(stream), ignore()) });
      const relay = link.relay.open(opening, HEAD, visitor())!;
      await link.settle();
      let known = nameOf(relay.state);
      for (const [side, event] of sequence) {
        if (event !== "reset" && isUp(event) !== (side === "relay")) continue;
        const stream = side === "relay" ? relay : asked[0];
        const row = known === "closed" ? undefined : findRow(known, event);
        try {
          CALLS[event](stream);
        } catch (error) {
          assert(!(error instanceof StreamEnded));
          assert.equal(row, undefined);
        }
        await link.settle();
        known = row?.[2] ?? known;
        assert.deepEqual([nameOf(relay.state), nameOf(asked[0].state), link.ends], [known, known, []]);
      }
      assert.deepEqual([link.relay.size, link.client.size], known === "closed" ? [0, 0] : [1, 1]);
      link.relay.end(GoAwayReason.closed, "");
      link.client.end(GoAwayReason.closed, "");
      await turn();
    }),
    { numRuns: 150 },
  );
});

/** A relay's session in `state`, and its observations. */
async function reachSession(state: SessionState) {
  const seen: string[] = [];
  let time = 0;
  const link = new Link({ now: () => time, onGoAway: (side) => seen.push(`${side} goAway`) });
  if (state === "draining") link.client.sendGoAway(GoAwayReason.draining, "");
  if (state === "over") link.relay.end(GoAwayReason.lost, "");
  await link.settle();
  seen.length = 0;
  link.ends.length = 0;
  const relayEnds = () => link.ends.filter(({ side }) => side === "relay").length;
  const sent = () => link.toClient.messages.map((message) => message[4]);
  const receive = (type: FrameType, payload: number[]) => {
    const bytes = new Uint8Array(FRAME_HEAD + payload.length);
    writeFrameHead(bytes, 0, payload.length, type, 0, 0);
    bytes.set(payload, FRAME_HEAD);
    link.relay.receive(bytes, 0, bytes.length);
  };
  const pass = (ms: number) => {
    time += ms;
    link.relay.beat();
  };
  return { link, seen, relayEnds, sent, receive, pass };
}

/** Performs an event on the relay and returns the effect that a peer and an owner can observe. */
async function perform(state: SessionState, event: SessionEvent): Promise<[over: boolean, effect: string]> {
  const { link, seen, relayEnds, sent, receive, pass } = await reachSession(state);
  let opened: unknown = null;
  const EVENTS: Record<SessionEvent, () => void> = {
    openStream: () => opened = link.relay.open(Opening.bodyless, HEAD, visitor()),
    frame: () => receive(FrameType.ping, [0, 0, 0, 0, 0, 0, 0, 0]),
    goAway: () => receive(FrameType.goAway, [0, 1]),
    quiet: () => pass(HEARTBEAT_MS),
    silent: () => pass(SILENCE_MS),
    violation: () => receive(99 as FrameType, []),
    close: () => link.relay.end(GoAwayReason.closed, ""),
    lost: () => link.relay.end(GoAwayReason.lost, ""),
  };
  EVENTS[event]();
  await turn();
  const types = sent(), { over } = link.relay;
  if (relayEnds() > 0) return [over, types.includes(FrameType.goAway) ? "goAway, end" : "end"];
  if (event === "openStream") return [over, opened === null ? "refuse" : "send"];
  if (types.includes(FrameType.ping)) return [over, "ping"];
  if (types.includes(FrameType.pong)) return [over, "deliver"];
  return [over, seen.length > 0 ? "notify" : "ignore"];
}

for (const [state, row] of Object.entries(SESSION_TABLE) as [SessionState, typeof SESSION_TABLE["open"]][]) {
  for (const [event, [next, effect]] of Object.entries(row) as [SessionEvent, readonly [SessionState, string]][]) {
    Deno.test(`session state ${state}: ${event} leads to ${next}, effect ${effect}`, async () => {
      assert.deepEqual(await perform(state, event), [next === "over", effect]);
    });
  }
}
