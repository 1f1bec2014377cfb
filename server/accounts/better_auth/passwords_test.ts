import { deepEqual, equal, rejects } from "node:assert/strict";
import { Turns } from "./passwords.ts";

Deno.test("work runs a few at a time and in order, and what is too much is refused", async () => {
  const turns = new Turns({ atATime: 2, waiting: 2 });
  const begun: number[] = [];
  const ends = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
  const runs = [0, 1, 2, 3].map((n) =>
    turns.run(async () => {
      begun.push(n);
      await ends[n].promise;
      return n;
    })
  );
  await rejects(turns.run(() => Promise.resolve()), { status: 503, code: "busy" });
  deepEqual(begun, [0, 1]);
  ends[1].resolve();
  equal(await runs[1], 1);
  await Promise.resolve();
  deepEqual(begun, [0, 1, 2]);
  ends[0].reject(new Error("no"));
  await rejects(runs[0], { message: "no" });
  ends[2].resolve();
  ends[3].resolve();
  deepEqual(await Promise.all([runs[2], runs[3]]), [2, 3]);
  deepEqual(begun, [0, 1, 2, 3]);
  equal(await turns.run(() => Promise.resolve("free again")), "free again");
});
