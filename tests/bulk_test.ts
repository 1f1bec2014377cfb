/** Must stay flat: bodies of a gibibyte through processes that hold almost nothing of them. Takes about 20 s. */
import assert from "node:assert/strict";
import { createNoise, hashOf, type Program, readMemory, startServer, startSite, startTunnel, visit } from "./kit.ts";

const GIB = 1024 ** 3;
/** Bytes. Node lets its heap of young objects grow four times as large before it looks at it. */
const MAX_MEMORY = Deno.env.get("PORTWAY_TEST_NODE") ? 250_000_000 : 200_000_000;

async function assertSmall(who: string, { pid }: Program): Promise<void> {
  const { peak } = await readMemory(pid);
  assert(peak < MAX_MEMORY, `${who} took ${Math.round(peak / 1e6)} MB at its peak`);
}

Deno.test("1 GiB down and 1 GiB up arrive whole, with each process below 200 MB, or 250 under Node", async () => {
  await using site = startSite();
  await using server = await startServer({ args: ["--ephemeral-bytes", "1000000000000"] });
  await using tunnel = await startTunnel({ server, target: site });
  const expected = hashOf(createNoise(GIB));

  const down = await visit(`${tunnel.url}/noise?size=${GIB}`);
  assert.equal(await hashOf(down.body), await expected);
  await assertSmall("the relay, sending,", server);
  await assertSmall("the client, sending,", tunnel);

  const up = await visit(`${tunnel.url}/upload`, {
    method: "POST",
    headers: { "content-length": String(GIB) },
    body: createNoise(GIB),
  });
  assert.deepEqual(await up.json(), { size: GIB, sha256: await expected });
  await assertSmall("the relay, receiving,", server);
  await assertSmall("the client, receiving,", tunnel);

  await server.whenHealth(({ streams }) => streams === 0);
  const { summary } = await tunnel.stop();
  assert(summary.bytes >= 2 * GIB && summary.bytes < 2.01 * GIB, `the summary says ${summary.bytes} bytes`);
});
