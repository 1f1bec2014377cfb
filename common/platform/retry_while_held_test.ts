import { deepEqual, equal, throws } from "node:assert/strict";
import { isHeldOpen, retryLaterWhileHeld, retryWhileHeld } from "./retry_while_held.ts";

const fail = (code: string) => Object.assign(new Error(code), { code });

/** Something that fails some times before it works, and what is waited meanwhile. */
function failing(code: string, times: number, platform: string): { run(): number; pauses: number[] } {
  const pauses: number[] = [];
  let attempts = 0;
  const work = () => {
    if (++attempts <= times) throw fail(code);
    return attempts;
  };
  return { run: () => retryWhileHeld(work, { platform, pause: (ms) => void pauses.push(ms) }), pauses };
}

Deno.test("retryWhileHeld waits on Windows for another program to let go of a file, longer each time", () => {
  for (const code of ["EPERM", "EACCES", "EBUSY"]) {
    const held = failing(code, 3, "win32");
    equal(held.run(), 4);
    deepEqual(held.pauses, [10, 20, 40]);
  }
});

Deno.test("retryWhileHeld gives up in the end, and at once where waiting does not help", () => {
  const held = failing("EBUSY", 100, "win32");
  throws(() => held.run(), { code: "EBUSY" });
  deepEqual(held.pauses, [10, 20, 40, 80, 160]);
  for (const [code, platform] of [["ENOENT", "win32"], ["EPERM", "linux"], ["EACCES", "darwin"], ["EBUSY", "linux"]]) {
    const other = failing(code, 1, platform);
    throws(() => other.run(), { code });
    deepEqual(other.pauses, []);
  }
});

Deno.test("retryLaterWhileHeld does the same and lets others work meanwhile", async () => {
  const run = async (code: string, times: number, platform: string) => {
    const pauses: number[] = [];
    let attempts = 0;
    const work = () => ++attempts <= times ? Promise.reject(fail(code)) : Promise.resolve(attempts);
    const pause = (ms: number) => Promise.resolve(void pauses.push(ms));
    return { result: await retryLaterWhileHeld(work, { platform, pause }).catch((error) => error.code), pauses };
  };
  deepEqual(await run("EPERM", 2, "win32"), { result: 3, pauses: [10, 20] });
  deepEqual(await run("EPERM", 9, "win32"), { result: "EPERM", pauses: [10, 20, 40, 80, 160] });
  deepEqual(await run("EPERM", 1, "linux"), { result: "EPERM", pauses: [] });
  deepEqual(await run("EXDEV", 1, "win32"), { result: "EXDEV", pauses: [] });
});

Deno.test("retryWhileHeld really waits", () => {
  let isFirst = true;
  const startedAt = performance.now();
  retryWhileHeld(() => {
    if (!isFirst) return;
    isFirst = false;
    throw fail("EPERM");
  }, { platform: "win32" });
  equal(performance.now() - startedAt >= 9, true);
});

Deno.test("isHeldOpen takes nothing else for it", () => {
  for (const error of [null, "EPERM", new Error("EPERM"), { code: "EPERM" }]) equal(isHeldOpen(error, "win32"), false);
});
