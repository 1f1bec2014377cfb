/** The attacks that tests/smuggling_test.ts sends through a whole tunnel, on the listener alone and on either runtime. */
import { deepEqual, ok } from "node:assert/strict";
import { silentLogger } from "../../common/log.ts";
import { ATTACKS } from "./_attacks.ts";
import { stop, within } from "./contract_kit_test.ts";
import { connectRaw } from "./_raw_client.ts";
import { listen } from "./open.ts";
import { BodyCut, type Exchange } from "./types.ts";

const HOST = "a.try.test:8080", OTHER = "b.try.test:8080";
const name = (text: string) => text.replaceAll("HOST", HOST).replaceAll("OTHER", OTHER);

Deno.test("listener edge: exactly one reading of every attack, or a refusal", async (t) => {
  let arrived: string[] = [], others: string[] = [];
  const handler = async (exchange: Exchange) => {
    const { method, path, host } = exchange;
    if (host !== HOST && host !== OTHER) return new Response("nobody's host", { status: 404 });
    try {
      for (let piece = await exchange.readBody(); piece !== null;) piece = await exchange.readBody();
    } catch (error) {
      ok(error instanceof BodyCut);
      throw error;
    }
    (host === HOST ? arrived : others).push(`${method} ${path} HTTP/1.1`);
    return new Response("taken");
  };
  const listener = await listen("edge", { hostname: "127.0.0.1", port: 0, log: silentLogger }, handler);
  for (const { what, bytes, statuses, reaches = [] } of ATTACKS) {
    await t.step(what, async () => {
      arrived = [];
      others = [];
      const client = connectRaw(listener.port);
      client.socket.end(name(bytes), "latin1");
      const answer = await within(client.end());
      const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
      ok(statuses.includes(status), JSON.stringify(answer.slice(0, 300)));
      deepEqual(arrived, reaches.map(name));
      deepEqual(others, []);
    });
  }
  await stop(listener);
});
