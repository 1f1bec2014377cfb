import { deepEqual } from "node:assert/strict";
import { createLocalArrivals } from "./mod.ts";

Deno.test("an announcement reaches who listens to its topic, until they stop", () => {
  const arrivals = createLocalArrivals(), heard: string[] = [];
  const stops = ["a", "a", "b"].map((topic, index) => arrivals.listen(topic, () => heard.push(`${topic}${index}`)));
  arrivals.announce("a");
  stops[0]();
  stops[0]();
  arrivals.announce("a");
  stops[1]();
  arrivals.announce("a");
  arrivals.announce("c");
  deepEqual(heard, ["a0", "a1", "a1"]);
});
