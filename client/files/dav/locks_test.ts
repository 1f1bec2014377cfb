import { equal, ok, throws } from "node:assert/strict";
import { LockTable } from "./locks.ts";

const NONE: ReadonlySet<string> = new Set();

/** A table whose clock stands until it is moved. */
function openTable(platform?: string) {
  const clock = { now: 1_000_000 };
  const locks = new LockTable(() => clock.now, platform);
  const add = (path: string, { isDeep = true, isExclusive = true, seconds = 60 } = {}) =>
    locks.add({ segments: split(path), isDeep, isExclusive, owner: "" }, seconds);
  const isFree = (path: string, options: { isMembership?: boolean; isDeep?: boolean; tokens?: string[] } = {}) => {
    try {
      const { isMembership = false, isDeep = false, tokens = [] } = options;
      locks.check({ segments: split(path), isMembership, isDeep }, new Set(tokens));
      return true;
    } catch {
      return false;
    }
  };
  return { locks, clock, add, isFree };
}

const split = (path: string) => path.split("/").filter((name) => name !== "");

Deno.test("a deep lock holds for all below it, another one for its folder and for what comes and goes there", () => {
  const { add, isFree } = openTable();
  const { token } = add("deep");
  add("flat", { isDeep: false });
  equal(isFree("deep/a/b"), false);
  equal(isFree("deep/a/b", { tokens: [token] }), true);
  equal(isFree("flat/a"), true);
  equal(isFree("flat/a", { isMembership: true }), false);
  equal(isFree("flat"), false);
  equal(isFree("", { isDeep: true }), false);
  equal(isFree("deeper"), true);
});

Deno.test("locks stand against each other only where one is exclusive, and above as well as below", () => {
  const { add } = openTable();
  add("a/b", { isExclusive: false });
  add("a/b", { isExclusive: false });
  throws(() => add("a/b"), { status: 423 });
  throws(() => add("a"), { status: 423 });
  throws(() => add("a/b/c"), { status: 423 });
  add("a", { isDeep: false });
});

Deno.test("a lock ends in its time, later when it is renewed, and never lasts longer than an hour", () => {
  const { locks, clock, add, isFree } = openTable();
  const lock = add("a", { seconds: 10 });
  clock.now += 9_000;
  ok(locks.refresh(lock.token, ["a"], 10));
  clock.now += 9_000;
  equal(isFree("a"), false);
  clock.now += 1_001;
  equal(isFree("a"), true);
  equal(locks.refresh(lock.token, ["a"], 10), null);
  equal(add("a", { seconds: 1e9 }).seconds, 3600);
});

Deno.test("no more than 1,000 locks are held, and looking one up does not depend on how many there are", () => {
  const { locks, clock, add } = openTable();
  for (let index = 0; index < 1000; index++) add(`folder/${index}`);
  throws(() => add("one more"), { status: 503 });
  for (let index = 0; index < 100_000; index++) {
    locks.check({ segments: ["b"], isMembership: true, isDeep: false }, NONE);
  }
  clock.now += 61_000;
  add("one more");
});

Deno.test("locks hold for a name in letters of another case where the system takes both for one", () => {
  for (const [platform, isOne] of [["win32", true], ["darwin", true], ["linux", false]] as const) {
    const { add, isFree } = openTable(platform);
    add("Folder/Plan");
    for (const path of ["folder/plan", "FOLDER/PLAN/below"]) equal(isFree(path), !isOne, `${platform}: ${path}`);
    equal(isFree("FOLDER", { isDeep: true }), !isOne, platform);
    equal(isFree("folder/other"), true);
    add("Caf\u00e9");
    equal(isFree("cafe\u0301"), platform !== "darwin", platform);
  }
});
