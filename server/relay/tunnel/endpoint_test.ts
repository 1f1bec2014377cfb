import { deepEqual, equal } from "node:assert/strict";
import { GoAwayReason } from "../../../protocol/mod.ts";
import type { SessionHandle } from "../../cluster/mod.ts";
import { createContext, FakeSessionHandle } from "./_fake_session.ts";
import { Endpoint, type Tunnel } from "./endpoint.ts";
import { Traffic } from "./gates/traffic.ts";

const OPEN: Tunnel = {
  traffic: new Traffic(Infinity, 0),
  requests: null,
  expiresAt: null,
  settings: null,
  allowance: null,
};

function open(time = 500) {
  const clock = { time }, context = createContext(clock);
  const endpoint = new Endpoint(OPEN, 0, "id", context);
  return { clock, context, endpoint, connect: () => new FakeSessionHandle((carrier) => endpoint.detach(carrier)) };
}

Deno.test("Endpoint.attach tells the session that it takes over from", () => {
  const { endpoint, connect } = open();
  const [older, newer] = [connect(), connect()];
  endpoint.attach(older);
  endpoint.attach(newer);
  deepEqual([older.ends, newer.ends, endpoint.connect()], [[GoAwayReason.replaced], [], newer]);
  deepEqual([endpoint.session, endpoint.isLive], [newer, true]);
});

Deno.test("Endpoint.detach of a session that was replaced changes nothing", () => {
  const { endpoint } = open();
  const [older, newer] = [new FakeSessionHandle(), new FakeSessionHandle()];
  endpoint.attach(older);
  endpoint.attach(newer);
  endpoint.detach(older);
  deepEqual([endpoint.connect(), endpoint.isLive], [newer, true]);
});

Deno.test("Endpoint.end ends whoever carries it", () => {
  const { endpoint, connect } = open();
  const carrier = connect();
  endpoint.attach(carrier);
  endpoint.end({ reason: GoAwayReason.expired, text: "" });
  deepEqual([carrier.ends, endpoint.connect(), endpoint.isLive], [[GoAwayReason.expired], null, false]);
});

Deno.test("Endpoint.whenCarried holds visitors only for a while after a session dropped off", async () => {
  const { endpoint, clock, connect } = open();
  equal(await endpoint.whenCarried(100), null, "there never was one");
  const first = connect();
  endpoint.attach(first);
  equal(await endpoint.whenCarried(100), first);
  endpoint.detach(first);
  const held = [endpoint.whenCarried(60_000), endpoint.whenCarried(60_000)];
  const second = connect();
  endpoint.attach(second);
  deepEqual(await Promise.all(held), [second, second]);
  endpoint.detach(second);
  equal(await endpoint.whenCarried(1), null, "the hold is over after a millisecond");
  clock.time = 601;
  equal(await endpoint.whenCarried(100), null, "it dropped off too long ago");
});

Deno.test("Endpoint.whenCarried holds a limited number of visitors, and their places are free again", async () => {
  const { endpoint, connect } = open();
  for (let round = 0; round < 2; round++) {
    const carrier = connect();
    endpoint.attach(carrier);
    endpoint.detach(carrier);
    const held = Array.from({ length: 256 }, () => endpoint.whenCarried(60_000));
    equal(await endpoint.whenCarried(60_000), null);
    endpoint.attach(carrier);
    deepEqual(new Set(await Promise.all(held)), new Set([carrier]));
    endpoint.detach(carrier);
  }
});

/** An endpoint whose sessions are on other nodes. */
function openElsewhere(find: () => Promise<SessionHandle | null>) {
  const { context, clock } = open();
  const stops: string[] = [];
  let tell: (carrier: SessionHandle) => void = () => {};
  const presence = {
    ...context.presence,
    find,
    watch(_key: string, listener: (carrier: SessionHandle) => void) {
      tell = listener;
      return () => void stops.push("stopped");
    },
  };
  const endpoint = new Endpoint(OPEN, 0, "id", {
    ...context,
    presence: { ...presence, claim() {}, release: () => false },
  });
  return { endpoint, clock, stops, tell: (carrier: SessionHandle) => tell(carrier) };
}

Deno.test("Endpoint.whenCarried finds sessions of other nodes, and waits for one that comes there", async () => {
  const carrier = new FakeSessionHandle();
  equal(await openElsewhere(() => Promise.resolve(carrier)).endpoint.whenCarried(0), carrier);
  equal(await openElsewhere(() => Promise.resolve(carrier)).endpoint.whenCarried(60_000), carrier);
  const { endpoint, stops, tell } = openElsewhere(() => Promise.resolve(null));
  const waiting = endpoint.whenCarried(60_000);
  await Promise.resolve();
  tell(carrier);
  equal(await waiting, carrier);
  deepEqual([stops, endpoint.isLive], [["stopped"], true]);
});

Deno.test("Endpoint.end reaches a session of another node", async () => {
  const carrier = new FakeSessionHandle(), found = Promise.resolve(carrier);
  openElsewhere(() => found).endpoint.end({ reason: GoAwayReason.exhausted, text: "" });
  await found;
  deepEqual(carrier.ends, [GoAwayReason.exhausted]);
});
