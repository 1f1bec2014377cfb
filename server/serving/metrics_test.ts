import { deepEqual, rejects } from "node:assert/strict";
import { silentLogger } from "../../common/log.ts";
import { Lazy } from "../http/mod.ts";
import { describeLate, type Metric, openMetrics } from "./metrics.ts";

const gauge = (name: string, value: number): Metric => ({ name, help: `${name}.`, type: "gauge", values: [{ value }] });

Deno.test("figures of what cannot be loaded are left out, until it can be, and all others are told", async () => {
  let isBroken = true;
  const late = new Lazy({
    name: "late",
    log: silentLogger,
    load: () => isBroken ? Promise.reject(new Error("a file is gone")) : Promise.resolve({ count: 2 }),
  });
  const server = await openMetrics({ hostname: "127.0.0.1", port: 0 }, silentLogger, async () => [
    gauge("early", 1),
    ...await describeLate(late, ({ count }) => [gauge("late", count)]),
  ]);
  const read = async () => {
    const answer = await fetch(server.url);
    return [answer.status, (await answer.text()).split("\n").filter((line) => /^\w/.test(line))];
  };
  try {
    deepEqual(await read(), [200, ["early 1"]]);
    isBroken = false;
    deepEqual(await read(), [200, ["early 1", "late 2"]]);
  } finally {
    server.abort();
  }
});

Deno.test("figures that cannot be read of what is there are a fault as any other", async () => {
  const late = new Lazy({ name: "late", log: silentLogger, load: () => Promise.resolve({}) });
  const fault = new Error("a defect");
  await rejects(
    describeLate(late, () => {
      throw fault;
    }),
    fault,
  );
});
