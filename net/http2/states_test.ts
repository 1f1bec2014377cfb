import { equal, ok } from "node:assert/strict";
import fc from "fast-check";
import { INPUT, INPUT_ROWS, LIFE, LIFE_ROWS, STREAM, STREAM_ROWS } from "./states.ts";

const MACHINES = [
  ["input", INPUT, INPUT_ROWS],
  ["lifetime", LIFE, LIFE_ROWS],
  ["stream", STREAM, STREAM_ROWS],
] as const;

type AnyTable = Readonly<Record<string, Readonly<Record<string, { next: string; effect: string }>>>>;
type AnyRows = readonly (readonly [string, readonly string[], string, string])[];

for (const [name, table, list] of MACHINES) {
  const machine: AnyTable = table, rows: AnyRows = list;
  const states = [...new Set(rows.map(([state]) => state))];
  const events = [...new Set(rows.flatMap(([, events]) => [...events]))];

  Deno.test(`HTTP/2 ${name}: every row leads to its next state with its effect`, () => {
    for (const [state, rowEvents, next, effect] of rows) {
      for (const event of rowEvents) {
        equal(machine[state][event].next, next, `${state}, ${event}`);
        equal(machine[state][event].effect, effect, `${state}, ${event}`);
      }
    }
  });

  Deno.test(`HTTP/2 ${name}: every state has exactly one row for every event`, () => {
    for (const state of states) {
      for (const event of events) {
        const matching = rows.filter(([other, rowEvents]) => other === state && rowEvents.includes(event));
        equal(matching.length, 1, `${state}, ${event}`);
      }
    }
  });

  Deno.test(`HTTP/2 ${name}: no event sequence leaves the table, and a final state stays final`, () => {
    fc.assert(fc.property(fc.array(fc.constantFrom(...events), { maxLength: 100 }), (sequence) => {
      let state = states[0];
      for (const event of sequence) {
        const { next } = machine[state][event];
        ok(states.includes(next));
        if (FINAL.has(state)) equal(next, state);
        state = next;
      }
    }));
  });
}

/** The states that no event leaves. */
const FINAL: ReadonlySet<string> = new Set(["discard", "closed", "reset"]);

Deno.test("HTTP/2 stream: an error effect never reaches the user of the stream and keeps the state", () => {
  for (const [state, events, next, effect] of STREAM_ROWS) {
    if (!["protocolError", "streamClosed", "malformed", "afterEnd", "ignore"].includes(effect)) continue;
    equal(next, state, events.join());
  }
});
