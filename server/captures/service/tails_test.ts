import { deepEqual, equal, throws } from "node:assert/strict";
import { HttpError } from "../../../common/http_error.ts";
import { createLocalArrivals } from "../../cluster/mod.ts";
import type { OpenedCapture } from "../../store/mod.ts";
import { Tails } from "./tails.ts";

const capture = (cursor: number): OpenedCapture => ({
  viewId: "v",
  cursor,
  receivedAt: 0,
  method: "GET",
  path: "/req/v",
  host: "x",
  httpVersion: "1.1",
  headers: [],
  address: "::1",
  contentType: null,
  bodySize: 0,
  bodyId: null,
  body: new Uint8Array(0),
});

const text = async (reader: ReadableStreamDefaultReader<Uint8Array>) =>
  new TextDecoder().decode((await reader.read()).value);

Deno.test("readers at the same place share one look into the store", async () => {
  let looks = 0;
  const arrivals = createLocalArrivals();
  const store = {
    listAfter: (_: string, cursor: number) => Promise.resolve(looks++ < 100 && cursor === 0 ? [capture(1)] : []),
  };
  const tails = new Tails(store, arrivals, 10_000);
  const readers = Array.from(
    { length: 50 },
    () => tails.open({ viewId: "v", after: 0, check: () => Promise.resolve() }).getReader(),
  );
  await Promise.all(readers.map((reader) => reader.read()));
  await Promise.all(readers.map((reader) => reader.read()));
  equal(looks, 1);
  tails.close();
  deepEqual((await Promise.all(readers.map((reader) => reader.read()))).map(({ done }) => done), Array(50).fill(true));
  equal(tails.count, 0);
});

Deno.test("who may not listen any more hears that and nothing else", async () => {
  const tails = new Tails({ listAfter: () => Promise.resolve([]) }, createLocalArrivals(), 1);
  let isMember = true;
  const check = () => isMember ? Promise.resolve() : Promise.reject(new HttpError(404, "view_not_found", ""));
  const reader = tails.open({ viewId: "v", after: 0, check }).getReader();
  equal(await text(reader), "retry: 1000\n\n");
  equal(await text(reader), ":\n\n");
  isMember = false;
  for (let said = ""; !said.includes("removed");) said = await text(reader);
  equal((await reader.read()).done, true);
  equal(tails.count, 0);
});

Deno.test("a view has as many readers as it may, and one that leaves makes room", async () => {
  const tails = new Tails({ listAfter: () => Promise.resolve([]) }, createLocalArrivals());
  const open = () => tails.open({ viewId: "v", after: 0, check: () => Promise.resolve() });
  const all = Array.from({ length: 200 }, open);
  throws(open, { code: "too_many_streams" });
  await all[0].cancel();
  await open().cancel();
  tails.close();
});
