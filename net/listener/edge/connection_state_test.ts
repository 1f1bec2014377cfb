import assert from "node:assert/strict";
import fc from "fast-check";
import { DEFAULT_LIMITS } from "../limits.ts";
import {
  type ConnectionEffect,
  type ConnectionEvent,
  ConnectionState,
  getDeadline,
  type Reading,
  READING_ROWS,
  type Writing,
  WRITING_ROWS,
} from "./connection_state.ts";

/** Events that lead a new connection to each state. */
const WAYS: Record<Reading, { isSecure: boolean; events: ConnectionEvent[] }> = {
  handshake: { isSecure: true, events: [] },
  head: { isSecure: false, events: [] },
  idle: { isSecure: false, events: ["no head"] },
  body: { isSecure: false, events: ["request with body"] },
  ahead: { isSecure: false, events: ["request"] },
  ended: { isSecure: false, events: ["request", "early end"] },
  discard: { isSecure: false, events: ["request", "last response"] },
  handed: { isSecure: false, events: ["request", "upgrade"] },
  closed: { isSecure: false, events: ["close"] },
};

const EVENTS: readonly ConnectionEvent[] = [
  ...new Set([...READING_ROWS.map(([, event]) => event), ...WRITING_ROWS.map(([, event]) => event)]),
];

function reach(reading: Reading): ConnectionState {
  const { isSecure, events } = WAYS[reading];
  const state = new ConnectionState(isSecure);
  for (const event of events) state.on(event);
  assert.equal(state.reading, reading);
  return state;
}

for (const [reading, event, next, effect] of READING_ROWS) {
  Deno.test(`ConnectionState: "${event}" in "${reading}" leads to "${next}" with the effect "${effect}"`, () => {
    const state = reach(reading);
    assert.equal(state.on(event), effect);
    assert.equal(state.reading, next);
  });
}

Deno.test("ConnectionState has one row at most for each state and event", () => {
  const keys = [...READING_ROWS, ...WRITING_ROWS].map(([state, event]) => `${state} ${event}`);
  const ofReading = READING_ROWS.map(([state, event]) => `${state} ${event}`);
  assert.equal(new Set(ofReading).size, READING_ROWS.length);
  assert.equal(new Set(keys).size, keys.length);
});

Deno.test("ConnectionState changes the direction to the visitor as its table says", () => {
  const found = new Set<string>();
  for (const reading of Object.keys(WAYS) as Reading[]) {
    for (const event of EVENTS) {
      const state = reach(reading), before = state.writing;
      if (state.on(event) === "fail" || state.writing === before || state.writing === "closed") continue;
      found.add(`${before} ${event} ${state.writing}`);
    }
  }
  assert.deepEqual([...found].sort(), WRITING_ROWS.map((row) => row.join(" ")).sort());
});

Deno.test("ConnectionState closes with the effect fail for an event without a row", () => {
  for (const reading of Object.keys(WAYS) as Reading[]) {
    for (const event of EVENTS) {
      if (READING_ROWS.some(([state, known]) => state === reading && known === event)) continue;
      const state = reach(reading);
      assert.equal(state.on(event), "fail", `${reading} ${event}`);
      assert.deepEqual([state.reading, state.writing], ["closed", "closed"]);
    }
  }
});

/** The directions that go together. */
const PAIRS: Record<Reading, readonly Writing[]> = {
  handshake: ["none"],
  idle: ["none"],
  head: ["none"],
  body: ["response"],
  ahead: ["response"],
  ended: ["response"],
  discard: ["shut"],
  handed: ["handed"],
  closed: ["closed"],
};

Deno.test("ConnectionState: no sequence of events leaves the table, and closed is the end", () => {
  const sequences = fc.array(fc.constantFrom<ConnectionEvent | "respond">(...EVENTS, "respond"), { maxLength: 60 });
  fc.assert(
    fc.property(fc.boolean(), sequences, (isSecure, sequence) => {
      const state = new ConnectionState(isSecure);
      let isClosed = false, isLast = false;
      for (const event of sequence) {
        const before = state.reading;
        if (!state.keepAlive) isLast = true;
        const effect = event === "respond" ? state.respond() : state.on(event);
        assert(PAIRS[state.reading].includes(state.writing), `${state.reading} with ${state.writing}`);
        if (isClosed) assert.equal(state.reading, "closed");
        isClosed = state.reading === "closed";
        const isNew = event === "respond" && state.reading === "head";
        assert(!isNew || (!isLast && before === "ahead"), "a connection carries on only if nobody asked for its end");
        if (before !== "closed") assert.equal(isClosed, CLOSING.has(effect), `${before} ${event}: ${effect}`);
      }
    }),
    { numRuns: 2000 },
  );
});

const CLOSING: ReadonlySet<ConnectionEffect> = new Set(["close", "fail"]);

/** The events that a socket, a handler and the listener can cause in a state. */
function possible(state: ConnectionState, isReading: boolean): (ConnectionEvent | "respond")[] {
  const always: ConnectionEvent[] = ["stop", "close"];
  const reads: ConnectionEvent[] = isReading ? ["bytes", "end", "broken"] : [];
  switch (state.reading) {
    case "handshake":
      return [...always, "secured", "secured for HTTP/2", "expired"];
    case "head":
      return [
        ...always,
        ...reads,
        "no head",
        "part of a head",
        "request",
        "request with body",
        "refused head",
        "expired",
      ];
    case "body":
      return [...always, "bytes", "end", "body end", "respond", "expired"];
    case "ahead":
      return [...always, ...reads, "early end", "respond", "upgrade", "expired"];
    case "ended":
      return [...always, "respond", "upgrade", "expired"];
    case "handed":
    case "closed":
      return [...always, ...reads];
    default:
      return [...always, ...reads, "expired"];
  }
}

Deno.test("ConnectionState has a row for everything that a socket, a handler and the listener can cause", () => {
  fc.assert(
    fc.property(fc.boolean(), fc.array(fc.nat(), { maxLength: 80 }), (isSecure, choices) => {
      const state = new ConnectionState(isSecure);
      for (const choice of choices) {
        const events = possible(state, true), event = events[choice % events.length];
        const effect = event === "respond" ? state.respond() : state.on(event);
        assert.notEqual(effect, "fail", `${event} in ${state.reading}`);
      }
    }),
    { numRuns: 2000 },
  );
});

Deno.test("getDeadline limits each state in which only the visitor can move the connection", () => {
  const { handshakeSeconds, headSeconds, idleSeconds } = DEFAULT_LIMITS;
  assert.equal(getDeadline("handshake", DEFAULT_LIMITS), handshakeSeconds);
  assert.equal(getDeadline("head", DEFAULT_LIMITS), headSeconds);
  assert.equal(getDeadline("idle", DEFAULT_LIMITS), idleSeconds);
  for (const state of ["ended", "discard"] as const) assert(getDeadline(state, DEFAULT_LIMITS) < 10);
  for (const state of ["body", "ahead", "handed", "closed"] as const) {
    assert.equal(getDeadline(state, DEFAULT_LIMITS), Infinity);
  }
});
