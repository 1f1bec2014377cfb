import { deepEqual, equal, match, rejects, throws } from "node:assert/strict";
import { HttpError } from "../../../common/http_error.ts";
import { OpenStreams, type Principal } from "../../access/mod.ts";
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
  trailers: [],
  body: new Uint8Array(0),
});

const principal: Principal = {
  user: { id: "ann", name: "Ann", email: "ann@example.com", isAdmin: false },
  account: { id: "ants", name: "Ants", plan: "free", role: "member" },
  scopes: new Set(["views:read"]),
  via: "token",
  login: "laptop",
};

const text = async (reader: ReadableStreamDefaultReader<Uint8Array>) =>
  new TextDecoder().decode((await reader.read()).value);

Deno.test("readers at the same place share one look into the store", async () => {
  let looks = 0;
  const arrivals = createLocalArrivals();
  const store = {
    listAfter: (_: string, cursor: number) => Promise.resolve(looks++ < 100 && cursor === 0 ? [capture(1)] : []),
  };
  const tails = new Tails(store, arrivals, new OpenStreams());
  const readers = Array.from(
    { length: 50 },
    () => tails.open({ principal, viewId: "v", after: 0, check: () => Promise.resolve() }).getReader(),
  );
  await Promise.all(readers.map((reader) => reader.read()));
  await Promise.all(readers.map((reader) => reader.read()));
  equal(looks, 1);
  tails.close();
  deepEqual((await Promise.all(readers.map((reader) => reader.read()))).map(({ done }) => done), Array(50).fill(true));
  equal(tails.count, 0);
});

Deno.test("who may not listen any more hears that and nothing else", async () => {
  const tails = new Tails({ listAfter: () => Promise.resolve([]) }, createLocalArrivals(), new OpenStreams(), {
    heartbeatMs: 1,
  });
  let isMember = true;
  const check = () => isMember ? Promise.resolve() : Promise.reject(new HttpError(404, "view_not_found", ""));
  const reader = tails.open({ principal, viewId: "v", after: 0, check }).getReader();
  equal(await text(reader), "retry: 1000\n\n");
  equal(await text(reader), ":\n\n");
  isMember = false;
  for (let said = ""; !said.includes("removed");) said = await text(reader);
  equal((await reader.read()).done, true);
  equal(tails.count, 0);
});

Deno.test("a view has as many readers as it may, and one that leaves makes room", async () => {
  const tails = new Tails({ listAfter: () => Promise.resolve([]) }, createLocalArrivals(), new OpenStreams());
  const open = () => tails.open({ principal, viewId: "v", after: 0, check: () => Promise.resolve() });
  const all = Array.from({ length: 200 }, open);
  throws(open, { code: "too_many_streams" });
  await all[0].cancel();
  await open().cancel();
  tails.close();
});

Deno.test("a stream ends when the permission of its principal ends, and no other stream does", async () => {
  const streams = new OpenStreams();
  const tails = new Tails({ listAfter: () => Promise.resolve([]) }, createLocalArrivals(), streams);
  const open = (changes: Partial<Principal>) =>
    tails.open({ principal: { ...principal, ...changes }, viewId: "v", after: 0, check: () => Promise.resolve() });
  for (
    const ended of [
      { userId: "ann", accountId: null },
      { userId: "ann", accountId: "ants" },
      { login: "laptop" },
      { login: "laptop", leftAccountId: "ants" },
    ]
  ) {
    const kept = [
      open({ user: { ...principal.user, id: "bob" }, login: "other" }),
      open({ account: { ...principal.account, id: "bees" }, login: "other", user: { ...principal.user, id: "carl" } }),
    ];
    const reader = open({}).getReader();
    equal(await text(reader), "retry: 1000\n\n");
    // The stream waits for captures meanwhile.
    const rest = reader.read();
    streams.end(ended);
    match(new TextDecoder().decode((await rest).value), /removed/, JSON.stringify(ended));
    equal((await reader.read()).done, true);
    equal(tails.count, kept.length);
    for (const stream of kept) await stream.cancel();
  }
  // A new login took over, so the reader may reconnect.
  const reader = open({}).getReader();
  await reader.read();
  streams.end({ login: "laptop", successor: "desktop" });
  equal((await reader.read()).done, true);
  equal(tails.count, 0);
});

Deno.test("a stream checks its permission while captures keep arriving", async () => {
  let isMember = true, checks = 0;
  const check = () => {
    checks++;
    return isMember ? Promise.resolve() : Promise.reject(new HttpError(404, "view_not_found", ""));
  };
  const store = { listAfter: (_: string, cursor: number) => Promise.resolve([capture(cursor + 1)]) };
  const tails = new Tails(store, createLocalArrivals(), new OpenStreams(), { checkMs: 5 });
  const reader = tails.open({ principal, viewId: "v", after: 0, check }).getReader();
  while (checks < 3) await text(reader);
  isMember = false;
  for (let said = ""; !said.includes("removed");) said = await text(reader);
  equal((await reader.read()).done, true);
});

Deno.test("a stream that the store breaks off makes room for another", async () => {
  const tails = new Tails(
    { listAfter: () => Promise.reject(new Error("away")) },
    createLocalArrivals(),
    new OpenStreams(),
  );
  const reader = tails.open({ principal, viewId: "v", after: 0, check: () => Promise.resolve() }).getReader();
  await reader.read();
  await rejects(reader.read(), /away/);
  equal(tails.count, 0);
});
