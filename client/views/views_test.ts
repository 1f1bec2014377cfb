import { deepEqual, equal, rejects, throws } from "node:assert/strict";
import { ApiRefused, ApiUnreachable } from "../api/mod.ts";
import { chooseView, followView, ViewGone, type ViewRecord } from "./mod.ts";
import { EventReader, EventTooLong } from "./events.ts";

const view = (id: string, name: string): ViewRecord => ({
  id,
  name,
  captureUrl: "",
  browserUrl: "",
  createdAt: "",
  captures: 0,
  bytes: 0,
  lastCaptureAt: null,
  status: 200,
  retentionDays: 1,
  maxCaptures: 1,
});

Deno.test("a view is chosen by its id, the beginning of one, or its name", () => {
  const views = [view("abc1", "Stripe"), view("abd2", "stripe"), view("ff00", "Other one"), view("ab", "abc1x")];
  const id = (given: string) => chooseView(views, given).id;
  deepEqual(["abc1", "abd", "ff", "Stripe", "stripe", "other ONE", "AB"].map(id), [
    "abc1",
    "abd2",
    "ff00",
    "abc1",
    "abd2",
    "ff00",
    "ab",
  ]);
  throws(() => id("STRIPE"), /"STRIPE" is more than one view: abc1 Stripe, abd2 stripe/);
  throws(() => id("a"), /is more than one view/);
  throws(() => id(""), /there is no view "" in this account/);
  throws(() => chooseView([], "x"), /there is none yet: --views-add makes one/);
});

Deno.test("events are read whatever chunks they come in", () => {
  const text = ': hi\n\nid: 1\nevent: capture\ndata: {"a":"é"}\n\ndata: x\r\ndata:y\r\n\r\nid: 3\ndata: cut';
  const bytes = new TextEncoder().encode(text);
  for (const size of [1, 2, 3, 1000]) {
    const reader = new EventReader();
    const events = [];
    for (let at = 0; at < bytes.length; at += size) events.push(...reader.push(bytes.subarray(at, at + size)));
    deepEqual(events, [{ type: "capture", id: "1", data: '{"a":"é"}' }, { type: "message", id: "1", data: "x\ny" }]);
  }
});

Deno.test("an event of any length does not fill the memory", () => {
  const reader = new EventReader(), chunk = new TextEncoder().encode("x".repeat(100_000));
  throws(() => {
    for (let count = 0; count < 100; count++) reader.push(chunk);
  }, EventTooLong);
});

const captureText = (cursor: number) =>
  JSON.stringify({
    id: String(cursor),
    cursor,
    receivedAt: "",
    method: "GET",
    host: "",
    path: "/",
    query: null,
    httpVersion: "1.1",
    headers: [],
    address: "",
    bodySize: 0,
  });

/** An API whose streams give `turns`, one after the other: cursors, or what to fail with. */
function createFakeApi(turns: (number[] | Error)[]) {
  const asked: string[] = [];
  return {
    asked,
    stream: (path: string) => {
      asked.push(path.replace(/^.*after=/, ""));
      const turn = turns.shift() ?? [];
      if (turn instanceof Error) return Promise.reject(turn);
      async function* body() {
        for (const cursor of turn as number[]) {
          const type = cursor < 0 ? "removed" : "capture";
          yield await Promise.resolve(
            new TextEncoder().encode(`id: ${cursor}\nevent: ${type}\ndata: ${captureText(Math.max(0, cursor))}\n\n`),
          );
        }
      }
      return Promise.resolve({ status: 200, header: () => undefined, body: body(), close: () => {} });
    },
  };
}

async function follow(turns: (number[] | Error)[], until: number) {
  const api = createFakeApi(turns), stop = new AbortController(), seen: number[] = [], lost: string[] = [];
  const options = {
    api,
    viewId: "v",
    after: 2,
    signal: stop.signal,
    onLost: (reason: string) => lost.push(reason),
    onBack() {},
  };
  for await (const { cursor } of followView(options)) {
    seen.push(cursor);
    if (cursor === until) stop.abort();
  }
  return { seen, lost, asked: api.asked };
}

Deno.test("after a lost connection a tail goes on behind the last capture, and shows none twice", async () => {
  const { seen, lost, asked } = await follow([[3, 4], new ApiUnreachable("away."), [4, 5, 5], [6]], 6);
  deepEqual(seen, [3, 4, 5, 6]);
  deepEqual(asked, ["2", "4", "4", "5"]);
  deepEqual(lost, ["the server ended the connection.", "away.", "the server ended the connection."]);
});

Deno.test("a tail ends when the view is gone or may not be read", async () => {
  await rejects(follow([[3, -1]], 9), ViewGone);
  await rejects(follow([new ApiRefused(404, "view_not_found", "gone")], 9), /gone/);
  equal((await follow([new ApiRefused(429, "too_many_streams", "full"), [3]], 3)).seen.length, 1);
});
