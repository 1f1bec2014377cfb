/** A server with default options bears what strangers do to it; `deno task attack` has the same at full size. */
import assert from "node:assert/strict";
import { openStage } from "../bench/attacks/stage.ts";

/** What an attack may take of the server's memory, in bytes, its own included. */
const MAX_MEMORY = 300e6;
/** What one visitor who was refused may still send, in bytes: buffers of the system hold some megabytes of it. */
const MAX_SENT = 32e6;
const SECONDS = 1;

/** What each does is told in bench/attacks/attacks.ts; so many at a time. */
const ATTACKS: readonly (readonly [string, number])[] = [
  ["half-heads", 500],
  ["idle", 500],
  ["slow-bodies", 300],
  ["no-readers", 50],
  ["whole-unread", 50],
  ["unread-sessions", 250],
  ["request-fields", 4],
  ["short-fields", 4],
  ["answer-fields", 2],
  ["chunks-512", 1],
  ["chunks-64", 4],
  ["unfinished-messages", 4],
  ["unfinished-sessions", 4],
  ["session-pings", 4],
  ["session-pings-unread", 4],
  ["idle-upgrades", 600],
  ["pipelines", 10],
  ["churn", 20],
  ["one-address", 1100],
];

const REFUSED: readonly string[] = ["refused-senders", "answered-senders", "noise-senders"];

Deno.test("attacks on a server", async (t) => {
  await using stage = await openStage();
  const bear = async (name: string, count: number) => {
    const bearing = await stage.bear({ name, count }, SECONDS);
    assert(bearing.probes > 0);
    assert.equal(bearing.failed, 0, "each new visitor is answered");
    assert(bearing.memoryPeak < MAX_MEMORY, `the server took ${bearing.memoryPeak} bytes`);
    assert(Number.isFinite(bearing.returned), `descriptors and streams returned: ${JSON.stringify(bearing)}`);
    return bearing;
  };
  for (const [name, count] of ATTACKS) {
    await t.step(`new visitors are answered, and all returns to where it was: ${name}`, async () => {
      await bear(name, count);
    });
  }
  for (const name of REFUSED) {
    await t.step(`who is refused is not listened to any more: ${name}`, async () => {
      const { tally } = await bear(name, 4);
      assert(tally !== null && tally.sent < tally.opened * MAX_SENT, JSON.stringify(tally));
    });
  }
});

Deno.test({
  name: "more idle visitors than there are descriptors keep no session out, and nobody once they have gone",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using stage = await openStage({ descriptors: 1024 });
    const bearing = await stage.bear({ name: "idle", count: 2500 }, SECONDS);
    // While they come some are turned away: every place has a request that runs.
    assert(bearing.failed < bearing.probes / 2, `${bearing.failed} of ${bearing.probes} were turned away`);
    assert(Number.isFinite(bearing.returned), "descriptors and streams returned");
    assert.equal(bearing.sessionFault, null, "a new session gets in");
  },
});
