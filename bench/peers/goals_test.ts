import assert from "node:assert/strict";
import { createGoals } from "./goals.ts";
import type { Section } from "./rows.ts";

const row = (name: string, values: Record<string, number>) => ({ name, values, rounds: [values], spread: 0 });

Deno.test("createGoals holds ours against the best peer that was measured", () => {
  const section: Section = {
    title: "12 bytes, 128 connections, plain heads",
    columns: [],
    rows: [row("portway", { perSecond: 600 }), row("frp", { perSecond: 100 }), row("piko", { perSecond: 120 })],
  };
  const goal = createGoals([section]).find(({ name }) => name === "the same, 128 connections");
  assert.equal(goal?.value, 5);
});

Deno.test("createGoals leaves a target without a peer unmeasured", () => {
  assert.ok(createGoals([]).every(({ value }) => Number.isNaN(value)));
});
