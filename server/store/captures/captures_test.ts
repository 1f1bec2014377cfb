import { deepEqual, equal, rejects } from "node:assert/strict";
import { type NewCapture, type NewView, type Store, TooManyViews } from "../mod.ts";
import { testStores } from "../stores_kit_test.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const NOW = 1_700_000_000_000;
const ANSWER = {
  status: 201,
  headers: [["X-A", "\xe9"]] as [string, string][],
  body: "ok ✓",
  delayMs: 5,
  cors: true,
  template: true,
  challenge: "zoom",
  challengeSecret: "secret",
};
const VIEW: NewView = {
  id: "view-1",
  accountId: "account-1",
  name: null,
  createdAt: NOW,
  answer: ANSWER,
  retentionDays: 30,
  maxCaptures: 1000,
};
const CAPTURE: NewCapture = {
  viewId: "view-1",
  receivedAt: NOW,
  method: "BREW",
  path: "/req/view-1/pot?x=\xff",
  host: "example.com",
  httpVersion: "1.1",
  headers: ["Host", "example.com", "X-Twice", "1", "x-twice", "\x80\xff"],
  address: "192.0.2.7",
  contentType: "text/plain",
  trailers: ["X-Sum", "\xe9"],
  body: Uint8Array.of(0, 1, 0xff, 0x80),
  bodySize: 4,
  bodyId: null,
};
const HUGE = Number.MAX_SAFE_INTEGER;

const keep = (store: Store, captures: NewCapture[], maxBytes = HUGE) =>
  store.captures.keep({ captures, chunks: [] }, maxBytes);

async function cursorsOf({ captures }: Store, viewId = "view-1"): Promise<number[]> {
  return (await captures.list(viewId, {}, 1000)).map(({ cursor }) => cursor);
}

testStores("a view is found as it was kept, and one without a name is called by its number", async ({ views }) => {
  const kept = {
    ...VIEW,
    number: 1,
    name: "Unnamed view #1",
    captures: 0,
    bytes: 0,
    lastCursor: 0,
    lastCaptureAt: null,
  };
  deepEqual(await views.insert(VIEW, 10), kept);
  deepEqual(await views.find("view-1"), kept);
  equal((await views.insert({ ...VIEW, id: "view-2", name: "Stripe" }, 10)).number, 2);
  equal((await views.insert({ ...VIEW, id: "view-3", accountId: "account-2" }, 10)).name, "Unnamed view #1");
  deepEqual((await views.list("account-1")).map(({ name }) => name), ["Unnamed view #1", "Stripe"]);
});

testStores(
  "views without a name are numbered without gaps, and their own number is never given again",
  async ({ views }) => {
    const add = async (id: string, name: string | null) => await views.insert({ ...VIEW, id, name }, 10);
    equal((await add("view-1", null)).name, "Unnamed view #1");
    equal((await add("view-2", "Stripe")).name, "Stripe");
    equal((await add("view-3", null)).name, "Unnamed view #2");
    equal(await views.remove("view-1"), true);
    equal(await views.remove("view-1"), false);
    const { name, number } = await add("view-4", null);
    deepEqual([name, number], ["Unnamed view #1", 4]);
  },
);

testStores("an account has as many views as it may, and no number is used up by one too many", async ({ views }) => {
  await views.insert(VIEW, 1);
  await rejects(views.insert({ ...VIEW, id: "view-2" }, 1), TooManyViews);
  await views.insert({ ...VIEW, id: "view-3", accountId: "account-2" }, 1);
  await views.remove("view-1");
  equal((await views.insert({ ...VIEW, id: "view-4" }, 1)).number, 2);
});

testStores("what of a view is changed is changed, and the rest stays", async ({ views }) => {
  const before = await views.insert(VIEW, 10);
  deepEqual(await views.change("view-1", { name: "Renamed", maxCaptures: 5 }), {
    ...before,
    name: "Renamed",
    maxCaptures: 5,
  });
  deepEqual(await views.change("view-1", {}), await views.find("view-1"));
  equal(await views.change("view-2", { name: "x" }), null);
});

testStores("a capture is found byte for byte as it was kept", async (store) => {
  await store.views.insert(VIEW, 10);
  deepEqual(await keep(store, [CAPTURE, { ...CAPTURE, contentType: null, body: new Uint8Array(0), bodySize: 0 }]), [
    1,
    2,
  ]);
  const found = await store.captures.find("view-1", 1);
  deepEqual(found && { ...found, body: Uint8Array.from(found.body) }, { ...CAPTURE, cursor: 1 });
  equal((await store.captures.find("view-1", 2))?.contentType, null);
  equal(await store.captures.find("view-1", 3), null);
  equal(await store.captures.find("view-2", 1), null);
});

testStores(
  "a batch of many views and sizes is kept whole, with cursors in order, and views count it",
  async (store) => {
    await store.views.insert(VIEW, 10);
    await store.views.insert({ ...VIEW, id: "view-0" }, 10);
    const batch = Array.from({ length: 173 }, (_, index) => ({
      ...CAPTURE,
      viewId: ["view-1", "view-0", "gone"][index % 3],
      receivedAt: NOW + index,
    }));
    const cursors = await keep(store, batch);
    deepEqual(cursors.slice(0, 6), [1, 1, null, 2, 2, null]);
    equal((await cursorsOf(store)).length, 58);
    deepEqual((await cursorsOf(store, "view-0")).toReversed(), Array.from({ length: 58 }, (_, index) => index + 1));
    const view = await store.views.find("view-1");
    deepEqual([view?.captures, view?.lastCursor, view?.lastCaptureAt], [58, 58, NOW + 171]);
  },
);

testStores("the oldest captures go when there are too many of them", async (store) => {
  await store.views.insert({ ...VIEW, maxCaptures: 3 }, 10);
  for (let count = 0; count < 5; count++) await keep(store, [CAPTURE, CAPTURE]);
  deepEqual(await cursorsOf(store), [10, 9, 8]);
  equal((await store.views.find("view-1"))?.captures, 3);
});

testStores("the oldest captures go when they are too large together, and the newest stays", async (store) => {
  await store.views.insert(VIEW, 10);
  await keep(store, Array(10).fill({ ...CAPTURE, bodySize: 1000 }), 5000);
  equal((await cursorsOf(store)).at(0), 10);
  const view = await store.views.find("view-1");
  equal((view?.bytes ?? HUGE) <= 5000, true);
  await keep(store, [{ ...CAPTURE, bodySize: 1_000_000 }], 5000);
  deepEqual(await cursorsOf(store), [11]);
});

testStores("the newest capture stays however many are to make room for it", async (store) => {
  await store.views.insert(VIEW, 10);
  for (const before of [199, 200, 399, 400]) {
    const newest = { ...CAPTURE, bodySize: 1_000_000 };
    const cursors = await keep(store, [...Array(before).fill(CAPTURE), newest], 5000);
    deepEqual(await cursorsOf(store), cursors.slice(-1));
    equal((await store.views.find("view-1"))?.captures, 1);
  }
});

testStores("captures are listed by cursor, method and time, newest first", async (store) => {
  await store.views.insert(VIEW, 10);
  await keep(store, [1, 2, 3, 4].map((at) => ({ ...CAPTURE, receivedAt: NOW + at, method: at % 2 ? "GET" : "POST" })));
  const list = async (filter: Parameters<Store["captures"]["list"]>[1], limit = 10) =>
    (await store.captures.list("view-1", filter, limit)).map(({ cursor }) => cursor);
  deepEqual(await list({}), [4, 3, 2, 1]);
  deepEqual(await list({}, 2), [4, 3]);
  deepEqual(await list({ before: 3 }), [2, 1]);
  deepEqual(await list({ after: 2 }), [4, 3]);
  deepEqual(await list({ method: "GET" }), [3, 1]);
  deepEqual(await list({ from: NOW + 2, to: NOW + 4 }), [3, 2]);
  deepEqual([await store.captures.lastBefore("view-1", NOW + 3), await store.captures.lastBefore("view-1", 0)], [2, 0]);
  deepEqual((await store.captures.listAfter("view-1", 1, 2)).map(({ cursor }) => cursor), [2, 3]);
  equal((await store.captures.listOpened("view-1", {}, 1))[0].body.length, 4);
});

testStores("a long body's chunks go with its capture", async (store) => {
  await store.views.insert(VIEW, 10);
  const chunk = { bodyId: "body-1", bytes: Uint8Array.of(1, 2), begunAt: NOW };
  await store.captures.keep({ captures: [], chunks: [{ ...chunk, number: 0 }, { ...chunk, number: 1 }] }, HUGE);
  await keep(store, [{ ...CAPTURE, bodyId: "body-1", bodySize: 8 }]);
  deepEqual(Uint8Array.from(await store.captures.readChunk("body-1", 1) ?? []), chunk.bytes);
  equal(await store.captures.readChunk("body-1", 2), null);
  equal(await store.captures.removeThese("view-1", [1]), 1);
  equal(await store.captures.removeThese("view-1", [1]), 0);
  equal(await store.captures.readChunk("body-1", 0), null);
  deepEqual(await store.views.find("view-1").then((view) => [view?.captures, view?.bytes]), [0, 0]);
});

testStores("chunks that nobody completed are removed, those of a capture are not", async (store) => {
  await store.views.insert(VIEW, 10);
  const chunk = { number: 0, bytes: Uint8Array.of(1), begunAt: NOW };
  const chunks = ["done", "left", "new"].map((bodyId) => ({ ...chunk, bodyId }));
  chunks[2].begunAt = NOW + 10;
  await store.captures.keep({ captures: [], chunks }, HUGE);
  await keep(store, [{ ...CAPTURE, bodyId: "done" }]);
  await store.captures.sweep(NOW, NOW + 5, 0);
  equal(await store.captures.readChunk("left", 0), null);
  equal((await store.captures.readChunk("done", 0))?.length, 1);
  equal((await store.captures.readChunk("new", 0))?.length, 1);
  await store.captures.removeUpload("new");
  equal(await store.captures.readChunk("new", 0), null);
});

testStores("captures outlive neither their days nor their view", async (store) => {
  await store.views.insert({ ...VIEW, retentionDays: 60 }, 10);
  await store.views.insert({ ...VIEW, id: "view-2", retentionDays: 60 }, 10);
  await keep(store, Array.from({ length: 250 }, (_, at) => ({ ...CAPTURE, receivedAt: NOW + at })));
  await keep(store, [{ ...CAPTURE, viewId: "view-2", receivedAt: NOW + 240 }]);
  await store.captures.sweep(NOW + 60 * DAY_MS, 0, 0);
  equal((await cursorsOf(store)).length, 250);
  await store.captures.sweep(NOW + 60 * DAY_MS + 240, 0, 0);
  equal((await cursorsOf(store)).length, 10);
  deepEqual(await cursorsOf(store, "view-2"), [1]);
  await store.views.remove("view-1");
  await store.captures.sweep(NOW, 0, 0);
  deepEqual(await cursorsOf(store), []);
});

testStores("all captures of a view are removed, and the next has a new cursor", async (store) => {
  await store.views.insert(VIEW, 10);
  await keep(store, Array(210).fill(CAPTURE));
  equal(await store.captures.removeAll("view-1"), 210);
  equal(await store.captures.removeAll("view-2"), 0);
  deepEqual(await keep(store, [CAPTURE]), [211]);
});

testStores("a deleted capture can be restored, and the oldest deleted ones go for good", async (store) => {
  await store.views.insert(VIEW, 10);
  const chunk = { bodyId: "body-1", number: 0, bytes: Uint8Array.of(1, 2), begunAt: NOW };
  await store.captures.keep({ captures: [], chunks: [chunk] }, HUGE);
  await keep(store, [{ ...CAPTURE, bodyId: "body-1", bodySize: 6 }, ...Array(29).fill(CAPTURE)]);
  const before = await store.captures.find("view-1", 1), view = await store.views.find("view-1");
  equal(await store.captures.setAside("view-1", 1, NOW), true);
  equal(await store.captures.setAside("view-1", 1, NOW), false);
  equal(await store.captures.find("view-1", 1), null);
  equal((await store.views.find("view-1"))?.captures, 29);
  equal(await store.captures.restore("view-1", 1), true);
  equal(await store.captures.restore("view-1", 1), false);
  deepEqual(await store.captures.find("view-1", 1), before);
  deepEqual(await store.views.find("view-1"), view);
  equal((await store.captures.readChunk("body-1", 0))?.length, 2);
  for (let cursor = 1; cursor <= 25; cursor++) await store.captures.setAside("view-1", cursor, NOW + cursor);
  equal(await store.captures.readChunk("body-1", 0), null);
  equal(await store.captures.restore("view-1", 5), false);
  equal(await store.captures.restore("view-1", 6), true);
  await store.captures.sweep(NOW, 0, NOW + 10);
  equal(await store.captures.restore("view-1", 9), false);
  equal(await store.captures.restore("view-1", 10), true);
  await store.captures.removeAll("view-1");
  equal(await store.captures.restore("view-1", 25), false);
});

testStores("simultaneous deletions count a capture once", async (store) => {
  await store.views.insert(VIEW, 10);
  await keep(store, Array(10).fill(CAPTURE));
  await Promise.all([
    store.captures.removeThese("view-1", [1, 2, 3]),
    store.captures.removeThese("view-1", [2, 3, 4]),
    store.captures.setAside("view-1", 3, NOW),
    store.captures.removeThese("view-1", [1, 2, 3, 4]),
  ]);
  deepEqual((await store.views.find("view-1"))?.captures, 6);
  equal((await cursorsOf(store)).length, 6);
});
