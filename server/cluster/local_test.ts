import { deepEqual, equal } from "node:assert/strict";
import { GoAwayReason } from "../../protocol/mod.ts";
import { LocalPresence, type SessionHandle } from "./mod.ts";

/** A carrier that notes why it was ended. */
function createSessionHandle(onEnd: () => void = () => {}) {
  const ends: GoAwayReason[] = [];
  const carrier: SessionHandle = {
    open: () => null,
    over: false,
    end(reason) {
      ends.push(reason);
      onEnd();
    },
  };
  return { carrier, ends };
}

Deno.test("LocalPresence finds who is in charge at once, and the one before is told that it was replaced", () => {
  const presence = new LocalPresence();
  equal(presence.find("a"), null);
  const older = createSessionHandle(() =>
    equal(presence.release("a", older.carrier), false, "it has no charge any more")
  );
  const newer = createSessionHandle();
  presence.claim("a", older.carrier);
  equal(presence.find("a"), older.carrier);
  presence.claim("a", newer.carrier);
  deepEqual([older.ends, newer.ends, presence.find("a")], [[GoAwayReason.replaced], [], newer.carrier]);
  equal(presence.find("b"), null);
});

Deno.test("LocalPresence.release ends only the charge of who has it", () => {
  const presence = new LocalPresence();
  const [one, two] = [createSessionHandle().carrier, createSessionHandle().carrier];
  presence.claim("a", one);
  equal(presence.release("a", two), false);
  equal(presence.release("a", one), true);
  deepEqual([presence.release("a", one), presence.find("a")], [false, null]);
});

Deno.test("LocalPresence.watch tells of every claim until it is ended, also by the listener itself", () => {
  const presence = new LocalPresence();
  const seen: string[] = [];
  const stop = presence.watch("a", () => seen.push("one"));
  const stopTwo = presence.watch("a", () => {
    seen.push("two");
    stopTwo();
  });
  presence.claim("b", createSessionHandle().carrier);
  presence.claim("a", createSessionHandle().carrier);
  presence.claim("a", createSessionHandle().carrier);
  stop();
  stop();
  presence.claim("a", createSessionHandle().carrier);
  deepEqual(seen, ["one", "two", "one"]);
});
