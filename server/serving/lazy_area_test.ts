import { deepEqual, equal } from "node:assert/strict";
import { listen } from "../../net/listener/mod.ts";
import { silentLogger } from "../../common/log.ts";
import { createApp } from "./app.ts";
import { type Area, type Handler, Lazy, readJsonBody } from "../http/mod.ts";
import { createLazyArea, type LoadedAreas } from "./lazy_area.ts";

/** Says who it is and what it was sent. */
const echo = (path: string): Handler => ({
  handle: (exchange) =>
    exchange.path.startsWith(path)
      ? readJsonBody(exchange, 1 << 20).then((body) => Response.json([path, String(body).length]))
      : undefined,
});

/** A server whose areas are loaded when `load` is resolved. */
async function startServer(load: Promise<LoadedAreas>) {
  const lazy = new Lazy({ name: "areas", log: silentLogger, load: () => load });
  const area = createLazyArea(lazy, silentLogger);
  const others: Handler = { prefix: "/others", handle: () => new Response("others") };
  const app = createApp([others, ...area.handlers], silentLogger);
  const listener = await listen("edge", { hostname: "127.0.0.1", port: 0, log: silentLogger }, app);
  return {
    area,
    ask: (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${listener.port}${path}`, init),
    [Symbol.asyncDispose]: () => listener.close(),
  };
}

Deno.test("requests that come before their area is loaded wait, and are answered whole; others do not wait", async () => {
  const load = Promise.withResolvers<LoadedAreas>();
  await using server = await startServer(load.promise);
  const body = JSON.stringify("x".repeat(500_000));
  const waiting = ["/a", "/b", "/none"].map((path) => server.ask(path, { method: "POST", body }));
  equal(await (await server.ask("/others")).text(), "others");
  load.resolve({ areas: [{ handlers: [echo("/a")], close() {} }, { handlers: [echo("/b")], close() {} }] });
  const [a, b, none] = await Promise.all(waiting);
  deepEqual([await a.json(), await b.json(), none.status], [["/a", 500_000], ["/b", 500_000], 404]);
  await none.body?.cancel();
});

Deno.test("what is loaded is loaded further, drained and closed, last things first; what is not is left alone", async () => {
  const done: string[] = [];
  const create = (name: string): Area => ({
    handlers: [],
    load: () => Promise.resolve(void done.push(`load ${name}`)),
    drain: () => Promise.resolve(void done.push(`drain ${name}`)),
    close: () => void done.push(`close ${name}`),
  });
  await using server = await startServer(Promise.resolve({ areas: [create("one"), create("two")] }));
  await server.area.drain?.(AbortSignal.timeout(0));
  deepEqual(done, []);
  await server.area.load?.();
  await server.area.drain?.(AbortSignal.timeout(0));
  await server.area.close();
  deepEqual(done, ["load one", "load two", "drain one", "drain two", "close two", "close one"]);
});
